package import AuthDomain
import Postgres
package import Primitives

extension PostgresStore {
    package func exchangeView(
        token: Secret<String>, tokenHash: [UInt8]
    ) async throws(Unavailability) -> ExchangeView {
        try await reading { () async throws(DatabaseError) in
            let link = databases.current.main.beginRead(Self.sessionLink, [.bytes(tokenHash)])
            let session = databases.current.identity.beginRead(
                identity.sessionByToken, [.text(token.exposed)])
            let row = try await session.rows().first
            let known = try await link.rows().first.map(SessionLink.init(row:))
            guard let row else {
                return ExchangeView(session: nil, user: try await user(ofGone: known), link: known)
            }
            return ExchangeView(
                session: try IdentitySession(row: row), user: try IdentityUser(row: row), link: known)
        }
    }

    package func mintView(
        userID: String, installationID: String?, deviceID: UUID?, candidateID: UUID
    ) async throws(Unavailability) -> MintView {
        try await reading { () async throws(DatabaseError) in
            let main = databases.current.main
            guard let installationID else {
                let claims = main.beginRead(Self.userClaims, [.text(userID), .optional(deviceID, SQLValue.uuid)])
                return MintView(device: nil, claims: try await customClaims(claims))
            }
            let device = main.beginRead(Self.deviceByInstallation, [.text(userID), .text(installationID)])
            let claims = main.beginRead(
                Self.installationClaims, [.text(userID), .text(installationID), .uuid(candidateID)])
            return MintView(
                device: try await device.rows().first.map(Device.init(row:)),
                claims: try await customClaims(claims))
        }
    }

    package func remember(_ session: SeenSession) async throws(Unavailability) {
        notice(session)
        try await reading { () async throws(DatabaseError) in
            _ = try await databases.current.main.write(
                Self.rememberSession, Self.values(of: session) + [.null])
        }
    }

    package func user(_ id: String) async throws(Unavailability) -> IdentityUser? {
        try await reading { () async throws(DatabaseError) in
            let rows = try await databases.current.identity.read(identity.userByID, [.text(id)])
            return try rows.first.flatMap(IdentityUser.init(row:))
        }
    }

    /// A user's row goes with its sessions': which of the two is gone makes the difference.
    private func user(ofGone link: SessionLink?) async throws(DatabaseError) -> IdentityUser? {
        guard let link else { return nil }
        return try await databases.current.identity.read(identity.userByID, [.text(link.userID)]).first
            .flatMap(IdentityUser.init(row:))
    }

    static func values(of seen: SeenSession) -> [SQLValue] {
        [
            .text(seen.session.id), .text(seen.session.userID), .bytes(seen.tokenHash), .text(seen.accessSID),
            .timestamp(seen.session.expiresAt), .timestamp(seen.seenAt),
        ]
    }

    private static let sessionLink = Statement(
        "session_link",
        """
        SELECT i.id, i.user_id, i.first_seen_at, i.expires_at, i.device_id, i.end_reason,
            ARRAY(SELECT d.id::text FROM sallyport.session_ties t JOIN sallyport.devices d ON d.id = t.device_id
                WHERE t.identity_session_id = i.id ORDER BY d.id) AS tied_devices,
            ARRAY(SELECT d.status FROM sallyport.session_ties t JOIN sallyport.devices d ON d.id = t.device_id
                WHERE t.identity_session_id = i.id ORDER BY d.id) AS tied_statuses
        FROM sallyport.identity_sessions i WHERE i.token_hash = $1
        """, [.bytes])

    private static let userClaims = Statement(
        "user_claims", "SELECT sallyport.custom_claims($1, $2)::text AS claims", [.text, .uuid])

    private static let installationClaims = Statement(
        "installation_claims",
        """
        SELECT sallyport.custom_claims($1, COALESCE(
            (SELECT id FROM sallyport.devices WHERE user_id = $1 AND installation_id = $2), $3))::text AS claims
        """, [.text, .text, .uuid])

    /// `$7` the device that the session is bound to; NULL leaves it as it is.
    static let rememberSession = Statement(
        "remember_session",
        """
        INSERT INTO sallyport.identity_sessions
            (id, user_id, token_hash, access_sid, expires_at, first_seen_at, last_seen_at, device_id)
        VALUES ($1, $2, $3, $4, $5, $6, $6, $7)
        ON CONFLICT (id) DO UPDATE SET token_hash = $3, expires_at = $5, last_seen_at = $6,
            doubted_at = NULL, doubt_reason = NULL, device_id = COALESCE($7, sallyport.identity_sessions.device_id)
        RETURNING ended_at IS NULL AS is_live
        """, [.text, .text, .bytes, .text, .timestamp, .timestamp, .uuid])
}
