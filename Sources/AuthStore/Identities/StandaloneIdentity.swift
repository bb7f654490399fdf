import AuthDomain
package import Postgres
package import Primitives

/// Writes users and sessions into the identity tables of a standalone deployment: what seeds a demo or a test.
package struct StandaloneIdentity: Sendable {
    private let random: any RandomSource

    package init(random: any RandomSource) {
        self.random = random
    }

    /// The user with this address, made if there is none. Returns the id.
    package func user(
        email: String, name: String, isVerified: Bool, at now: Timestamp, in database: Database
    ) async throws(DatabaseError) -> String {
        let id = Base64URL.encode(random.bytes(18))
        let rows = try await database.write(
            Self.ensureUser, [.text(id), .text(name), .text(email), .bool(isVerified), .timestamp(now)])
        guard let row = rows.first else { throw .unavailable(.misconfigured) }
        return try row.text("id")
    }

    /// A new session. Returns its token without a signature.
    package func session(
        of userID: String, lifetime: Duration, at now: Timestamp, in database: Database
    ) async throws(DatabaseError) -> String {
        let token = Base64URL.encode(random.bytes(24))
        _ = try await database.write(
            Self.insertSession,
            [
                .text(Base64URL.encode(random.bytes(18))), .timestamp(now + lifetime), .text(token), .timestamp(now),
                .text(userID),
            ])
        return token
    }

    private static let ensureUser = Statement(
        "ensure_user",
        """
        INSERT INTO public."user" AS u ("id", "name", "email", "emailVerified", "createdAt", "updatedAt")
        VALUES ($1, $2, $3, $4, $5, $5)
        ON CONFLICT ("email") DO UPDATE SET "name" = $2, "emailVerified" = $4, "updatedAt" = $5 RETURNING u."id"
        """, [.text, .text, .text, .bool, .timestamp])

    private static let insertSession = Statement(
        "insert_session",
        """
        INSERT INTO public."session" ("id", "expiresAt", "token", "createdAt", "updatedAt", "userId")
        VALUES ($1, $2, $3, $4, $4, $5)
        """, [.text, .timestamp, .text, .timestamp, .text])
}
