package import Postgres
import Primitives

/// What `information_schema` says of the mapped tables: which of the columns are there, and of which type.
///
/// The view shows only what the role may read, so that a missing grant looks like a missing column; the message names
/// both.
package struct IdentityCatalog: Equatable, Sendable {
    package enum Problem: Error, Equatable, Sendable, CustomStringConvertible {
        case noSessionTable(String)
        case noUserTable(String)
        case noColumn(table: String, column: String)
        case wrongType(table: String, column: String, type: String)

        package var description: String {
            switch self {
            case .noSessionTable(let name):
                "the session table \(name) is not there or not readable: sessions that live in secondary storage "
                    + "only cannot be read"
            case .noUserTable(let name): "the user table \(name) is not there or not readable"
            case .noColumn(let table, let column): "table \(table) has no readable column \(column)"
            case .wrongType(let table, let column, let type): "column \(column) of table \(table) has type \(type)"
            }
        }
    }

    /// Type names as `information_schema` writes them.
    private let types: [IdentityMapping.Column: String]

    package enum ReadFailure: Error, Equatable, Sendable {
        case unavailable(DatabaseError)
        case problem(Problem)
    }

    /// - Throws: `.problem` when the store is certainly not as mapped, `.unavailable` when that could not be found out.
    package static func read(
        _ mapping: IdentityMapping, from database: Database
    ) async throws(ReadFailure) -> IdentityCatalog {
        var found: [String: [String: String]] = [:]
        do throws(DatabaseError) {
            let rows = try await database.read(
                columnsOfTables, [.text(mapping.schema), .text(mapping.sessionTable), .text(mapping.userTable)])
            for row in rows {
                found[try row.text("table_name"), default: [:]][try row.text("column_name")] =
                    try row.text("data_type")
            }
        } catch {
            throw .unavailable(error)
        }
        do throws(Problem) {
            return try IdentityCatalog(mapping, tables: found)
        } catch {
            throw .problem(error)
        }
    }

    /// - Parameter tables: types by column, by table.
    init(_ mapping: IdentityMapping, tables: [String: [String: String]]) throws(Problem) {
        guard let session = tables[mapping.sessionTable] else { throw .noSessionTable(mapping.sessionTable) }
        guard let user = tables[mapping.userTable] else { throw .noUserTable(mapping.userTable) }
        var types: [IdentityMapping.Column: String] = [:]
        for column in IdentityMapping.Column.allCases {
            let table = column.isOfSession ? mapping.sessionTable : mapping.userTable
            let name = mapping.name(of: column)
            guard let type = (column.isOfSession ? session : user)[name] else {
                if column.isOptional { continue }
                throw .noColumn(table: table, column: name)
            }
            guard column.accepts(type) else { throw .wrongType(table: table, column: name, type: type) }
            types[column] = type
        }
        self.types = types
    }

    func has(_ column: IdentityMapping.Column) -> Bool { types[column] != nil }

    /// A time without a zone.
    func isNaive(_ column: IdentityMapping.Column) -> Bool { types[column] == "timestamp without time zone" }

    func type(of column: IdentityMapping.Column) -> String { types[column] ?? "text" }

    private static let columnsOfTables = Statement(
        "identity_columns",
        """
        SELECT table_name::text, column_name::text, data_type::text FROM information_schema.columns
        WHERE table_schema = $1 AND table_name IN ($2, $3)
        """, [.text, .text, .text])
}

extension IdentityMapping.Column {
    fileprivate func accepts(_ type: String) -> Bool {
        switch self {
        case .sessionID, .sessionUserID, .userID:
            ["text", "character varying", "uuid", "integer", "bigint", "smallint"].contains(type)
        case .sessionToken, .userName, .userEmail: ["text", "character varying"].contains(type)
        case .impersonatedBy: ["text", "character varying", "uuid", "integer", "bigint"].contains(type)
        case .sessionExpiresAt, .sessionCreatedAt, .banExpires:
            ["timestamp with time zone", "timestamp without time zone"].contains(type)
        case .emailVerified, .banned: type == "boolean"
        }
    }
}
