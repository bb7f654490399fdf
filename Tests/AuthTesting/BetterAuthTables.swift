import AuthDomain
package import AuthStore
import Foundation
package import Primitives

/// The identity tables of a Better Auth application as its generators lay them out, in a scratch database.
package struct BetterAuthTables: Sendable {
    package enum IDType: String, Sendable, CaseIterable {
        case text, uuid, integer, bigint

        var isMadeByTheDatabase: Bool { self == .integer || self == .bigint }
    }

    package let database: ScratchDatabase
    package let preset: IdentityMapping.Preset
    package let ids: IDType
    /// With the columns of the admin plugin: bans and impersonation.
    package let hasAdminPlugin: Bool
    package let schema: String
    package let sessionTable: String
    package let userTable: String
    /// What signs session tokens.
    package let secret: String

    package init(
        in database: ScratchDatabase, preset: IdentityMapping.Preset = .kysely, ids: IDType = .text,
        hasAdminPlugin: Bool = true, schema: String = "public", sessionTable: String = "session",
        userTable: String = "user", secret: String = "better-auth-secret-of-a-test-0123456789"
    ) throws {
        self.database = database
        self.preset = preset
        self.ids = ids
        self.hasAdminPlugin = hasAdminPlugin
        self.schema = schema
        self.sessionTable = sessionTable
        self.userTable = userTable
        self.secret = secret
        try create()
    }

    /// A user's row. Returns the id as text.
    @discardableResult
    package func user(
        isVerified: Bool = true, isBanned: Bool? = nil, banExpires: Timestamp? = nil, name: String = "Ada Field"
    ) throws -> String {
        var values = [
            ("name", Self.literal(name)), ("email", Self.literal("ada.\(Self.letters(10))@example.test")),
            ("emailVerified", "\(isVerified)"),
        ]
        if let isBanned { values.append(("banned", "\(isBanned)")) }
        if let banExpires { values.append(("banExpires", instant(banExpires))) }
        return try insert(into: userTable, values)
    }

    /// A session's row of now.
    package func session(
        of userID: String, lifetime: Duration = .days(7), age: Duration = .zero, impersonatedBy: String? = nil,
        token: String? = nil, storedToken: String? = nil, at now: Timestamp = BetterAuthTables.now
    ) throws -> Session {
        let token = token ?? Self.letters(32)
        var values = [
            ("expiresAt", instant(now + lifetime)), ("token", Self.literal(storedToken ?? token)),
            ("createdAt", instant(now - age)), ("updatedAt", instant(now - age)), ("userId", Self.literal(userID)),
        ]
        if let impersonatedBy { values.append(("impersonatedBy", Self.literal(impersonatedBy))) }
        let id = try insert(into: sessionTable, values)
        return Session(id: id, userID: userID, token: token, signed: signed(token))
    }

    /// A session token as a client sends it.
    package func signed(_ token: String) -> String {
        SessionTokenReader.sign(token, secret: Secret(Array(secret.utf8)))
    }

    /// A session of a new user.
    package func signIn(isVerified: Bool = true, age: Duration = .zero) throws -> Session {
        try session(of: user(isVerified: isVerified), age: age)
    }

    package struct Session: Sendable {
        package let id: String
        package let userID: String
        package let token: String
        package let signed: String
    }

    package func setVerified(_ isVerified: Bool, userID: String) throws {
        try database.sql(
            "UPDATE \(table(userTable)) SET \(column("emailVerified")) = \(isVerified) WHERE id::text = "
                + Self.literal(userID))
    }

    package func removeSession(_ session: Session) throws {
        try database.sql("DELETE FROM \(table(sessionTable)) WHERE id::text = \(Self.literal(session.id))")
    }

    /// A role that may read the named columns and nothing else, made once a cluster.
    package func grantReading(to role: String) throws {
        var user = ["id", "name", "email", "emailVerified"]
        var session = ["id", "token", "userId", "expiresAt", "createdAt"]
        if hasAdminPlugin {
            user += ["banned", "banExpires"]
            session += ["impersonatedBy"]
        }
        try database.sql(
            """
            DO $$ BEGIN CREATE ROLE \(role) LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;
            GRANT USAGE ON SCHEMA "\(schema)" TO \(role);
            GRANT SELECT (\(user.map(column).joined(separator: ", "))) ON \(table(userTable)) TO \(role);
            GRANT SELECT (\(session.map(column).joined(separator: ", "))) ON \(table(sessionTable)) TO \(role);
            """)
    }

    package static var now: Timestamp {
        Timestamp(microsecondsSinceEpoch: Int64(Date().timeIntervalSince1970 * 1_000_000))
    }

    private func create() throws {
        let (id, time) = (ids.rawValue + (ids.isMadeByTheDatabase ? " GENERATED BY DEFAULT AS IDENTITY" : ""), timeType)
        func columns(_ list: [(String, String)]) -> String {
            list.map { "\(column($0.0)) \($0.1)" }.joined(separator: ", ")
        }
        var user = [
            ("id", "\(id) PRIMARY KEY"), ("name", "text NOT NULL"), ("email", "text NOT NULL UNIQUE"),
            ("emailVerified", "boolean NOT NULL DEFAULT false"), ("image", "text"),
        ]
        var session = [
            ("id", "\(id) PRIMARY KEY"), ("expiresAt", "\(time) NOT NULL"), ("token", "text NOT NULL UNIQUE"),
            ("createdAt", "\(time) NOT NULL"), ("updatedAt", "\(time) NOT NULL"),
            ("userId", "\(ids.rawValue) NOT NULL REFERENCES \(table(userTable)) ON DELETE CASCADE"),
        ]
        if hasAdminPlugin {
            user += [("role", "text"), ("banned", "boolean"), ("banExpires", time)]
            session += [("impersonatedBy", "text")]
        }
        try database.sql(
            """
            CREATE SCHEMA IF NOT EXISTS "\(schema)";
            CREATE TABLE \(table(userTable)) (\(columns(user)));
            CREATE TABLE \(table(sessionTable)) (\(columns(session)));
            """)
    }

    private var timeType: String {
        switch preset {
        case .kysely: "timestamptz"
        case .drizzle: "timestamp"
        case .prisma: "timestamp(3)"
        }
    }

    private func table(_ name: String) -> String { "\"\(schema)\".\"\(name)\"" }

    private func column(_ name: String) -> String {
        guard preset == .drizzle else { return "\"\(name)\"" }
        return name.reduce(into: "") { $0 += $1.isUppercase ? "_\($1.lowercased())" : String($1) }
    }

    private func insert(into name: String, _ values: [(String, String)]) throws -> String {
        var values = values
        switch ids {
        case .text: values.append(("id", Self.literal(Self.letters(32))))
        case .uuid: values.append(("id", "gen_random_uuid()"))
        case .integer, .bigint: break
        }
        let rows = try database.sql(
            """
            INSERT INTO \(table(name)) (\(values.map { column($0.0) }.joined(separator: ", ")))
            VALUES (\(values.map(\.1).joined(separator: ", "))) RETURNING id::text
            """)
        return rows[0][0]
    }

    /// Naive columns hold UTC.
    private func instant(_ time: Timestamp) -> String {
        let zoned = "('epoch'::timestamptz + \(time.microsecondsSinceEpoch) * interval '1 microsecond')"
        return preset == .kysely ? zoned : "(\(zoned) AT TIME ZONE 'UTC')"
    }

    private static func literal(_ text: String) -> String {
        "'" + text.replacingOccurrences(of: "'", with: "''") + "'"
    }

    package static func letters(_ count: Int) -> String {
        String(
            (0..<count).map { _ in
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789".randomElement() ?? "a"
            })
    }
}
