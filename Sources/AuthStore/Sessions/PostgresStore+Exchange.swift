package import AuthDomain
import Postgres
package import Primitives
import Telemetry

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
            let presented = try readable(row)
            // A session that has another user now is another sign-in under an old name.
            let isTheirs = known.map { $0.sessionID == presented.id && $0.userID == presented.userID } ?? false
            return ExchangeView(session: presented, user: try IdentityUser(row: row), link: isTheirs ? known : nil)
        }
    }

    package func mintView(
        session: IdentitySession, installationID: String?, deviceID: UUID?, candidateID: UUID
    ) async throws(Unavailability) -> MintView {
        try await reading { () async throws(DatabaseError) in
            let (main, userID) = (databases.current.main, session.userID)
            let mark = main.beginRead(
                Self.sessionMark,
                [.text(userID), .text(session.id), .timestamp(session.createdAt + AuthDomain.Limits.clockSkew)])
            guard let installationID else {
                let claims = main.beginRead(Self.userClaims, [.text(userID), .optional(deviceID, SQLValue.uuid)])
                return MintView(
                    device: nil, claims: try await customClaims(claims),
                    isMarked: try await mark.rows().first?.bool("is_marked") ?? false)
            }
            let device = main.beginRead(Self.deviceByInstallation, [.text(userID), .text(installationID)])
            let claims = main.beginRead(
                Self.installationClaims, [.text(userID), .text(installationID), .uuid(candidateID)])
            return MintView(
                device: try await device.rows().first.map(Device.init(row:)),
                claims: try await customClaims(claims),
                isMarked: try await mark.rows().first?.bool("is_marked") ?? false)
        }
    }

    package func remember(_ session: SeenSession) async throws(Unavailability) -> RegistrationOutcome {
        notice(session)
        return try await reading { () async throws(DatabaseError) in
            let main = databases.current.main
            return try await main.retryingContention { () async throws(DatabaseError) in
                try await main.transaction { transaction async throws(DatabaseError) in
                    _ = try await transaction.run(Self.joinUser, [.text(session.session.userID)])
                    return try await self.remember(session, boundTo: nil, in: transaction)
                }
            }
        }
    }

    /// Under the user's lock, so that a sign-out of all sessions comes before or after it. What has ended or is marked
    /// rolls the transaction back.
    func remember(
        _ seen: SeenSession, boundTo deviceID: UUID?, in transaction: Transaction
    ) async throws(DatabaseError) -> RegistrationOutcome {
        let values: [SQLValue] = [
            .text(seen.session.id), .text(seen.session.userID), .bytes(seen.tokenHash), .text(seen.accessSID),
            .timestamp(seen.session.expiresAt), .timestamp(seen.seenAt), .optional(deviceID, SQLValue.uuid),
            .timestamp(seen.session.createdAt + AuthDomain.Limits.clockSkew),
        ]
        var rows = try await transaction.run(Self.rememberSession, values)
        if rows.isEmpty {
            _ = try await transaction.run(
                Self.forgetOtherUser, [.text(seen.session.id), .text(seen.session.userID), .timestamp(seen.seenAt)])
            rows = try await transaction.run(Self.rememberSession, values)
        }
        if try rows.first?.bool("is_live") ?? false { return .registered }
        transaction.rollBackAtEnd()
        return .changed
    }

    /// A row that cannot be read is no verdict on its session.
    private func readable(_ row: Row) throws(DatabaseError) -> IdentitySession {
        do throws(DatabaseError) {
            return try IdentitySession(row: row)
        } catch {
            unreadableRows?.add()
            logger.warning(
                "the row of a session cannot be read: no verdict is given on it",
                [LogField("identity.session_ids", try row.optionalText("session_id") ?? "")])
            throw error
        }
    }

    package func user(_ id: String) async throws(Unavailability) -> IdentityUser? {
        guard identity.catalog.canHold(id, in: .userID) else { throw .misconfigured }
        return try await reading { () async throws(DatabaseError) in
            let rows = try await databases.current.identity.read(identity.userByID, [.text(id)])
            return try rows.first.flatMap(IdentityUser.init(row:))
        }
    }

    /// A user's row goes with its sessions': which of the two is gone makes the difference.
    private func user(ofGone link: SessionLink?) async throws(DatabaseError) -> IdentityUser? {
        guard let link else { return nil }
        guard identity.catalog.canHold(link.userID, in: .userID) else { throw .unavailable(.misconfigured) }
        return try await databases.current.identity.read(identity.userByID, [.text(link.userID)]).first
            .flatMap(IdentityUser.init(row:))
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

    /// Exchanges of one user hold it together; a sign-out of all of their sessions waits for it, and they for that.
    private static let joinUser = Statement(
        "join_user", "SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 1))", [.text])

    /// A session id that came back for another user, as ids that are numbers do after a restore: whatever rested on the
    /// first one ends, and the new one begins without its ties.
    private static let forgetOtherUser = Statement(
        "forget_other_user",
        """
        WITH other AS (
            UPDATE sallyport.identity_sessions SET user_id = $2, first_seen_at = $3, device_id = NULL, ended_at = NULL,
                end_reason = NULL
            WHERE id = $1 AND user_id <> $2 RETURNING id
        ), untied AS (
            DELETE FROM sallyport.session_ties t USING other o WHERE t.identity_session_id = o.id
        ), ended AS (
            UPDATE sallyport.device_sessions s SET ended_at = $3, end_reason = 'session_revoked' FROM other o
            WHERE s.identity_session_id = o.id AND s.ended_at IS NULL RETURNING s.id, s.user_id, s.device_id
        )
        INSERT INTO sallyport.audit_events (at, event, user_id, device_session_id, device_id, reason)
        SELECT $3, 'session_ended', user_id, id, device_id, 'session_revoked' FROM ended
        """, [.text, .text, .timestamp])

    /// No row: the id is another user's here. `$7` the device that the session is bound to; NULL leaves it as it is. `$8` as in `sessionMark`.
    private static let rememberSession = Statement(
        "remember_session",
        """
        INSERT INTO sallyport.identity_sessions
            (id, user_id, token_hash, access_sid, expires_at, first_seen_at, last_seen_at, device_id)
        VALUES ($1, $2, $3, $4, $5, $6, $6, $7)
        ON CONFLICT (id) DO UPDATE SET token_hash = $3, expires_at = $5, last_seen_at = $6,
            doubted_at = NULL, doubt_reason = NULL, device_id = COALESCE($7, sallyport.identity_sessions.device_id)
        WHERE sallyport.identity_sessions.user_id = $2
        RETURNING ended_at IS NULL AND NOT EXISTS (SELECT 1 FROM sallyport.user_marks m WHERE m.user_id = $2
            AND ($1 = ANY(m.session_ids) OR m.marked_at > $8 AND m.spared_id IS DISTINCT FROM $1)) AS is_live
        """, [.text, .text, .bytes, .text, .timestamp, .timestamp, .uuid, .timestamp])
}
