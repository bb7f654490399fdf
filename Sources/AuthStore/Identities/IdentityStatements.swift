import AuthDomain
import Postgres
import Primitives

/// The reads of the identity store, written for one mapping and what was found of it.
struct IdentityStatements: Sendable {
    /// `$1` the token column's value.
    let sessionByToken: Statement
    /// `$1` the user's id as text.
    let userByID: Statement
    /// `$1` the user's id as text, `$2` how many: the newest, for time tells of the others.
    let sessionsOfUser: Statement
    /// `$1` ids as texts.
    let sessionsByID: Statement
    let usersByID: Statement
    let emptyTables: Statement
    let visibility: Statement
    let missingTables: Statement

    let catalog: IdentityCatalog

    init(_ mapping: IdentityMapping, _ catalog: IdentityCatalog) {
        self.catalog = catalog
        let writer = Writer(mapping: mapping, catalog: catalog)
        let session = """
            SELECT \(writer.text("s", .sessionID)) AS session_id, \(writer.text("s", .sessionUserID)) AS session_user_id,
            \(writer.instant("s", .sessionExpiresAt)) AS session_expires_at,
            \(writer.instant("s", .sessionCreatedAt)) AS session_created_at,
            \(writer.text("s", .impersonatedBy)) AS impersonated_by, \(writer.userColumns)
            FROM \(writer.table(mapping.sessionTable)) s LEFT JOIN \(writer.table(mapping.userTable)) u
            ON \(writer.column("u", .userID)) = \(writer.column("s", .sessionUserID))
            WHERE \(writer.column("s", .sessionToken)) = $1
            """
        // Ids are compared in their own type: a cast of the column would pass by its index.
        let user = """
            SELECT \(writer.userColumns) FROM \(writer.table(mapping.userTable)) u
            WHERE \(writer.column("u", .userID)) = CAST($1 AS \(catalog.type(of: .userID)))
            """
        sessionByToken = Statement("identity_session", SQL(unsafeText: session), [.text])
        userByID = Statement("identity_user", SQL(unsafeText: user), [.text])
        let sessions = """
            SELECT \(writer.text("s", .sessionID)) AS session_id,
            \(writer.text("s", .sessionUserID)) AS session_user_id,
            \(writer.instant("s", .sessionExpiresAt)) AS session_expires_at
            FROM \(writer.table(mapping.sessionTable)) s
            WHERE \(writer.column("s", .sessionID)) = ANY(CAST($1 AS \(catalog.type(of: .sessionID))[]))
            """
        sessionsByID = Statement("identity_sessions", SQL(unsafeText: sessions), [.textArray])
        let ofUser = """
            SELECT \(writer.text("s", .sessionID)) AS session_id FROM \(writer.table(mapping.sessionTable)) s
            WHERE \(writer.column("s", .sessionUserID)) = CAST($1 AS \(catalog.type(of: .sessionUserID)))
            ORDER BY \(writer.column("s", .sessionCreatedAt)) DESC LIMIT $2
            """
        sessionsOfUser = Statement("identity_sessions_of_user", SQL(unsafeText: ofUser), [.text, .int64])
        let users = """
            SELECT \(writer.text("u", .userID)) AS user_id FROM \(writer.table(mapping.userTable)) u
            WHERE \(writer.column("u", .userID)) = ANY(CAST($1 AS \(catalog.type(of: .userID))[]))
            """
        usersByID = Statement("identity_users", SQL(unsafeText: users), [.textArray])
        let empty = """
            SELECT NOT EXISTS (SELECT 1 FROM \(writer.table(mapping.sessionTable))) AS is_session_empty,
            NOT EXISTS (SELECT 1 FROM \(writer.table(mapping.userTable))) AS is_user_empty
            """
        emptyTables = Statement("identity_empty_tables", SQL(unsafeText: empty))
        visibility = IdentityVisibility.statement(of: [mapping.sessionTable, mapping.userTable].map(writer.regclass))
        // The system's catalog shows a table whatever rights the role has left: without a right it is not missing.
        let tables = [mapping.sessionTable, mapping.userTable].map { "to_regclass(\(writer.regclass($0))) IS NULL" }
        missingTables = Statement(
            "identity_missing_tables", SQL(unsafeText: "SELECT \(tables.joined(separator: " OR ")) AS is_missing"))
    }

    /// The quoted name of a table of the mapping, as a literal.
    static func regclass(_ table: String, in mapping: IdentityMapping) -> String {
        Writer.literal(Writer.quoted(mapping.schema) + "." + Writer.quoted(table))
    }

    private struct Writer {
        let mapping: IdentityMapping
        let catalog: IdentityCatalog

        var userColumns: String {
            """
            \(text("u", .userID)) AS user_id, \(text("u", .userName)) AS user_name,
            \(text("u", .userEmail)) AS user_email, \(column("u", .emailVerified)) AS email_verified,
            \(catalog.has(.banned) ? column("u", .banned) : "NULL::boolean") AS is_banned,
            \(instant("u", .banExpires)) AS ban_expires_at
            """
        }

        func regclass(_ name: String) -> String { IdentityStatements.regclass(name, in: mapping) }

        func table(_ name: String) -> String { Self.quoted(mapping.schema) + "." + Self.quoted(name) }

        func column(_ alias: String, _ column: IdentityMapping.Column) -> String {
            alias + "." + Self.quoted(mapping.name(of: column))
        }

        func text(_ alias: String, _ column: IdentityMapping.Column) -> String {
            catalog.has(column) ? self.column(alias, column) + "::text" : "NULL::text"
        }

        /// Microseconds since 1970 as bigint. A time without a zone is one of the configured zone, whatever the
        /// database's `TimeZone` is. What lies outside the years 1 to 9999, `infinity` too, is read as their end: no
        /// value of a row makes the statement fail, which other rows depend on.
        func instant(_ alias: String, _ column: IdentityMapping.Column) -> String {
            guard catalog.has(column) else { return "NULL::bigint" }
            let name = self.column(alias, column)
            let type = catalog.isNaive(column) ? "timestamp" : "timestamptz"
            let bounded = "LEAST(GREATEST(\(name), \(type) '0001-01-02Z'), \(type) '9999-12-30Z')"
            let zoned =
                catalog.isNaive(column) ? "\(bounded) AT TIME ZONE \(Self.literal(mapping.naiveTimeZone))" : bounded
            // LEAST and GREATEST pass over NULL.
            return "CASE WHEN \(name) IS NOT NULL THEN (EXTRACT(EPOCH FROM \(zoned)) * 1000000)::bigint END"
        }

        static func quoted(_ identifier: String) -> String {
            "\"" + identifier.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
        }

        static func literal(_ text: String) -> String {
            "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
        }
    }
}

extension IdentitySession {
    init(row: Row) throws(DatabaseError) {
        self.init(
            id: try row.text("session_id"), userID: try row.text("session_user_id"),
            createdAt: Timestamp(microsecondsSinceEpoch: try row.int64("session_created_at")),
            expiresAt: Timestamp(microsecondsSinceEpoch: try row.int64("session_expires_at")),
            impersonatedBy: try row.optionalText("impersonated_by"))
    }
}

extension IdentityUser {
    /// `nil` where an outer join found none.
    init?(row: Row) throws(DatabaseError) {
        guard let id = try row.optionalText("user_id") else { return nil }
        let isBanned = try row.optionalBool("is_banned") ?? false
        let banEnd = try row.optionalInt64("ban_expires_at").map { Timestamp(microsecondsSinceEpoch: $0) }
        self.init(
            id: id, name: try row.optionalText("user_name"), email: try row.optionalText("user_email"),
            isVerified: try row.optionalBool("email_verified") ?? false, ban: isBanned ? Ban(until: banEnd) : nil)
    }
}
