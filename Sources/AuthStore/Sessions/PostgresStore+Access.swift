package import AuthDomain
import Postgres
package import Primitives

extension PostgresStore: SessionStore {
    package func accessView(
        sessionID: String, deviceID: UUID?, tokenID: String
    ) async throws(Unavailability) -> AccessView {
        try await reading { () async throws(DatabaseError) in
            let main = databases.current.main
            let revoked = main.beginRead(Self.revokedAccessToken, [.text(tokenID)])
            if let id = UUID(sessionID) {
                let found = main.beginRead(Self.deviceSession, [.uuid(id)])
                let isRevoked = try await !revoked.rows().isEmpty
                guard let row = try await found.rows().first else { return AccessView(isLive: false, bond: nil) }
                let session = try DeviceSession(row: row)
                let isLive = !isRevoked && session.rotation.end == nil && session.deviceStatus == .active
                return AccessView(isLive: isLive, deviceSession: session, deviceID: deviceID)
            }
            let found = main.beginRead(
                Self.accessSession, [.text(sessionID), .optional(deviceID, SQLValue.uuid)])
            let isRevoked = try await !revoked.rows().isEmpty
            guard let row = try await found.rows().first else { return AccessView(isLive: false, bond: nil) }
            return AccessView(
                isLive: try row.bool("is_live") && !isRevoked,
                bond: AccessView.Bond(
                    userID: try row.text("user_id"), identitySessionID: try row.text("id"),
                    hasDevice: try row.bool("has_device")))
        }
    }

    package func revokeAccessToken(_ token: RevokedAccessToken) async throws(Unavailability) {
        try await reading { () async throws(DatabaseError) in
            _ = try await databases.current.main.write(
                Self.revokeAccessToken,
                [
                    .text(token.tokenID), .text(token.userID), .optional(token.deviceID, SQLValue.uuid),
                    .timestamp(token.revokedAt), .timestamp(token.expiresAt),
                    .timestamp(token.revokedAt - AuthDomain.Limits.revokedTokenKept),
                ])
        }
    }

    private static let revokedAccessToken = Statement(
        "revoked_access_token", "SELECT jti FROM sallyport.revoked_access_tokens WHERE jti = $1", [.text])

    /// Each revocation also clears some rows that nobody can ask for any more; none waits for another to do so.
    private static let revokeAccessToken = Statement(
        "revoke_access_token",
        """
        WITH gone AS (
            DELETE FROM sallyport.revoked_access_tokens WHERE jti = ANY(ARRAY(
                SELECT jti FROM sallyport.revoked_access_tokens WHERE expires_at < $6
                ORDER BY expires_at LIMIT 10 FOR UPDATE SKIP LOCKED))
        ), revoked AS (
            INSERT INTO sallyport.revoked_access_tokens (jti, user_id, device_id, revoked_at, expires_at)
            VALUES ($1, $2, $3, $4, $5) ON CONFLICT (jti) DO NOTHING RETURNING user_id, device_id
        )
        INSERT INTO sallyport.audit_events (at, event, user_id, device_id)
        SELECT $4, 'access_token_revoked', user_id, device_id FROM revoked
        """, [.text, .text, .uuid, .timestamp, .timestamp, .timestamp])

    package func endIdentitySession(
        accessSID: String, reason: RefusalReason, at now: Timestamp
    ) async throws(Unavailability) {
        try await reading { () async throws(DatabaseError) in
            _ = try await databases.current.main.write(
                Self.endIdentitySession, [.text(accessSID), .text(reason.rawValue), .timestamp(now)])
        }
    }

    /// A token without a device session lives as long as nobody has signed its session out, no device that the session
    /// was ever exchanged with is held, and the device that it names is active.
    private static let accessSession = Statement(
        "access_session",
        """
        SELECT i.id, i.user_id, i.ended_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM sallyport.session_ties t JOIN sallyport.devices d ON d.id = t.device_id
                WHERE t.identity_session_id = i.id AND d.status IN ('revoked', 'lost', 'wipe_ordered'))
            AND ($2 IS NULL OR EXISTS (SELECT 1 FROM sallyport.devices d WHERE d.id = $2 AND d.status = 'active'))
            AS is_live,
            $2 IS NULL OR EXISTS (SELECT 1 FROM sallyport.session_ties t
                WHERE t.identity_session_id = i.id AND t.device_id = $2) AS has_device
        FROM sallyport.identity_sessions i WHERE i.access_sid = $1
        """, [.text, .uuid])

    private static let endIdentitySession = Statement(
        "end_identity_session",
        """
        WITH ended AS (
            UPDATE sallyport.identity_sessions SET ended_at = $3, end_reason = $2
            WHERE access_sid = $1 AND ended_at IS NULL RETURNING user_id, device_id
        )
        INSERT INTO sallyport.audit_events (at, event, user_id, device_id, reason)
        SELECT $3, 'identity_session_ended', user_id, device_id, $2 FROM ended
        """, [.text, .text, .timestamp])
}
