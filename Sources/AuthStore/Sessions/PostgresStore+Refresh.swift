package import AuthDomain
import Postgres
package import Primitives
import Telemetry

extension PostgresStore {
    /// Row, user and claims in one round trip of each database, side by side.
    package func refreshView(
        sessionID: UUID, userID: String
    ) async throws(Unavailability) -> RefreshView {
        try await reading { () async throws(DatabaseError) in
            let (main, identityStore) = (databases.current.main, databases.current.identity)
            let session = main.beginRead(Self.deviceSession, [.uuid(sessionID)])
            let claims = main.beginRead(Self.sessionClaims, [.uuid(sessionID)])
            // Without a user that can be there the rest is asked for all the same: what has ended has its reason.
            let user =
                identity.catalog.canHold(userID, in: .userID)
                ? identityStore.beginRead(identity.userByID, [.text(userID)]) : nil
            guard let row = try await session.rows().first else {
                return RefreshView(session: nil, user: nil, claims: .none)
            }
            let found = try DeviceSession(row: row)
            // An ended session is answered with its reason, whether or not the rest can be found out.
            if found.rotation.end != nil { return RefreshView(session: found, user: nil, claims: .none) }
            guard let user else { throw .unavailable(.misconfigured) }
            return RefreshView(
                session: found, user: try await user.rows().first.flatMap(IdentityUser.init(row:)),
                claims: try await customClaims(claims))
        }
    }

    package func rotate(_ rotation: Rotation) async throws(Unavailability) -> Bool {
        try await reading { () async throws(DatabaseError) in
            let rows = try await databases.current.main.write(
                rotation.isRestored ? Self.rotateRestored : Self.rotateSession,
                [
                    .uuid(rotation.sessionID), .int64(rotation.expectedGeneration),
                    .int64(rotation.issued.generation), .text(rotation.issued.kid),
                    .timestamp(rotation.issued.issuedAt), .timestamp(rotation.issued.expiresAt),
                    .timestamp(rotation.rotatedAt), .bytesArray(rotation.rotationKeys),
                    .bool(rotation.hasSeenKey), .bool(rotation.isVerified),
                ])
            return !rows.isEmpty
        }
    }

    package func noteReplays(
        of session: DeviceSession, _ cause: RefreshDecision.ReplayCause, at now: Timestamp
    ) async {
        logger.warning(
            "the same refresh was asked for several times in a row: a client that keeps no tokens, or a second holder",
            [
                LogField("sid", session.id.description), LogField("device.id", session.deviceID.description),
                LogField("refresh.cause", cause.rawValue),
            ])
        let values: [SQLValue] = [
            .timestamp(now), .text(session.userID), .uuid(session.id), .uuid(session.deviceID), .text(cause.rawValue),
        ]
        // `Database` has logged why it failed.
        _ = try? await databases.current.main.write(Self.auditReplays, values)
    }

    package func endSession(
        _ sessionID: UUID, reason: RefusalReason, ifGeneration generation: Int64?, at now: Timestamp
    ) async throws(Unavailability) -> Bool {
        try await reading { () async throws(DatabaseError) in
            let rows = try await databases.current.main.write(
                Self.endDeviceSession,
                [
                    .uuid(sessionID), .text(reason.rawValue), .optional(generation, SQLValue.int64),
                    .timestamp(now),
                ])
            return !rows.isEmpty
        }
    }

    static let deviceSession = Statement(
        "device_session",
        """
        SELECT s.id, s.user_id, s.device_id, d.status AS device_status, s.client_id, s.scope, s.identity_session_id,
            s.auth_time, s.amr, s.created_at, s.expires_at, s.sealed_secret, s.generation, s.refresh_kid, s.issued_at,
            s.token_expires_at, s.rotated_at, s.rotation_keys, s.has_seen_key, s.was_verified, s.end_reason
        FROM sallyport.device_sessions s JOIN sallyport.devices d ON d.id = s.device_id
        WHERE s.id = $1
        """, [.uuid])

    private static let sessionClaims = Statement(
        "session_claims",
        """
        SELECT sallyport.custom_claims(s.user_id, s.device_id)::text AS claims
        FROM sallyport.device_sessions s WHERE s.id = $1 AND s.ended_at IS NULL
        """, [.uuid])

    private static let rotationTypes: [SQLType] = [
        .uuid, .int64, .int64, .text, .timestamp, .timestamp, .timestamp, .bytesArray, .bool,
        .bool,
    ]

    private static let rotateSession = Statement(
        "rotate",
        """
        UPDATE sallyport.device_sessions SET generation = $3, refresh_kid = $4, issued_at = $5, token_expires_at = $6,
            rotated_at = $7, rotation_keys = $8, has_seen_key = $9, was_verified = $10
        WHERE id = $1 AND generation = $2 AND ended_at IS NULL RETURNING id
        """, rotationTypes)

    /// As `rotate`, with the generation above ours written down: our last commits were lost.
    private static let rotateRestored = Statement(
        "rotate_restored",
        """
        WITH rotated AS (
            UPDATE sallyport.device_sessions SET generation = $3, refresh_kid = $4, issued_at = $5,
                token_expires_at = $6, rotated_at = $7, rotation_keys = $8, has_seen_key = $9,
                was_verified = $10
            WHERE id = $1 AND generation = $2 AND ended_at IS NULL RETURNING id, user_id, device_id
        )
        INSERT INTO sallyport.audit_events (at, event, user_id, device_session_id, device_id, reason)
        SELECT $7, 'generation_restored', user_id, id, device_id, $2 || ' to ' || $3 FROM rotated
        RETURNING device_session_id AS id
        """, rotationTypes)

    private static let auditReplays = Statement(
        "audit_replays",
        """
        INSERT INTO sallyport.audit_events (at, event, user_id, device_session_id, device_id, reason)
        VALUES ($1, 'refresh_replayed', $2, $3, $4, $5)
        """, [.timestamp, .text, .uuid, .uuid, .text])

    private static let endDeviceSession = Statement(
        "end_device_session",
        """
        WITH ended AS (
            UPDATE sallyport.device_sessions SET ended_at = $4, end_reason = $2
            WHERE id = $1 AND ended_at IS NULL AND ($3 IS NULL OR generation = $3)
            RETURNING id, user_id, device_id
        )
        INSERT INTO sallyport.audit_events (at, event, user_id, device_session_id, device_id, reason)
        SELECT $4, 'session_ended', user_id, id, device_id, $2 FROM ended
        RETURNING device_session_id AS id
        """, [.uuid, .text, .int64, .timestamp])
}
