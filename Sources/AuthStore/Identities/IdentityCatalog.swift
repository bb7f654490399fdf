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
        let found: [String: [String: String]]
        do throws(DatabaseError) {
            found = try await tables(of: mapping, in: database)
        } catch {
            throw .unavailable(error)
        }
        do throws(Problem) {
            return try IdentityCatalog(mapping, tables: found)
        } catch {
            throw .problem(error)
        }
    }

    /// Types by column, by table, as far as they are there and readable.
    static func tables(
        of mapping: IdentityMapping, in database: Database
    ) async throws(DatabaseError) -> [String: [String: String]] {
        var found: [String: [String: String]] = [:]
        let rows = try await database.read(
            columnsOfTables, [.text(mapping.schema), .text(mapping.sessionTable), .text(mapping.userTable)])
        for row in rows {
            found[try row.text("table_name"), default: [:]][try row.text("column_name")] = try row.text("data_type")
        }
        return found
    }

    init(_ mapping: IdentityMapping, tables: [String: [String: String]]) throws(Problem) {
        if let problem = Self.problems(mapping, tables: tables).first { throw problem }
        var types: [IdentityMapping.Column: String] = [:]
        for column in IdentityMapping.Column.allCases {
            let table = column.isOfSession ? mapping.sessionTable : mapping.userTable
            types[column] = tables[table]?[mapping.name(of: column)]
        }
        self.types = types
    }

    /// Everything that is in the way, in the order of tables and columns.
    static func problems(_ mapping: IdentityMapping, tables: [String: [String: String]]) -> [Problem] {
        var problems: [Problem] = []
        if tables[mapping.sessionTable] == nil { problems.append(.noSessionTable(mapping.sessionTable)) }
        if tables[mapping.userTable] == nil { problems.append(.noUserTable(mapping.userTable)) }
        for column in IdentityMapping.Column.allCases {
            let name = column.isOfSession ? mapping.sessionTable : mapping.userTable
            guard let table = tables[name] else { continue }
            if let type = table[mapping.name(of: column)] {
                guard !column.accepts(type) else { continue }
                problems.append(.wrongType(table: name, column: mapping.name(of: column), type: type))
            } else if !column.isOptional {
                problems.append(.noColumn(table: name, column: mapping.name(of: column)))
            }
        }
        return problems
    }

    func has(_ column: IdentityMapping.Column) -> Bool { types[column] != nil }

    /// A time without a zone.
    func isNaive(_ column: IdentityMapping.Column) -> Bool { types[column] == "timestamp without time zone" }

    /// Whether an id of ours can stand in the column: a cast of one that cannot fails the statement for all others.
    func canHold(_ id: String, in column: IdentityMapping.Column) -> Bool {
        switch type(of: column) {
        case "uuid": UUID(id) != nil
        case "smallint": Int16(id) != nil
        case "integer": Int32(id) != nil
        case "bigint": Int64(id) != nil
        default: true
        }
    }

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
        case .sessionUpdatedAt: true
        }
    }
}
