package import AuthDomain
import Crypto
import Postgres
import Primitives

extension PostgresStore {
    /// Device, tie and device session in one transaction. The device's row is locked before its sessions, as a revocation
    /// does: one of the two comes second and sees the other.
    package func register(_ registration: Registration) async throws(Unavailability) -> RegistrationOutcome {
        notice(registration.seen)
        let push = try registration.push.map { push throws(Unavailability) in
            try sealed(push, for: registration.deviceID)
        }
        return try await reading { () async throws(DatabaseError) in
            let main = databases.current.main
            return try await main.retryingContention { () async throws(DatabaseError) in
                try await main.transaction { transaction async throws(DatabaseError) in
                    try await self.write(registration, push, in: transaction)
                }
            }
        }
    }

    private struct SealedPush {
        let provider: String
        let token: [UInt8]
        let fingerprint: [UInt8]
    }

    private func write(
        _ registration: Registration, _ push: SealedPush?, in transaction: Transaction
    ) async throws(DatabaseError) -> RegistrationOutcome {
        let (seen, deviceID) = (registration.seen, registration.deviceID)
        let metadata = registration.metadata
        let fingerprint = SQLValue.optional(push?.fingerprint, SQLValue.bytes)
        // Whatever two exchanges can meet on, one of them passes first.
        _ = try await transaction.run(
            Self.takeTurns, [.text(seen.session.userID), .text(metadata.installationID), fingerprint])
        if let devicesMax = registration.devicesMax {
            let room = try await transaction.run(
                Self.makeRoom, [.text(seen.session.userID), .int64(Int64(devicesMax)), .timestamp(seen.seenAt)])
            if let until = try room.first?.optionalTimestamp("full_until") {
                transaction.rollBackAtEnd()
                return .full(until: until)
            }
        }
        _ = try await transaction.run(
            Self.takePushToken,
            [.uuid(deviceID), .text(metadata.installationID), .text(seen.session.userID), fingerprint])
        let device = try await transaction.run(
            Self.registerDevice,
            [
                .uuid(deviceID), .text(seen.session.userID), .text(metadata.installationID),
                .text(metadata.platform.rawValue), .optional(metadata.name, SQLValue.text),
                .optional(metadata.model, SQLValue.text), .optional(metadata.osVersion, SQLValue.text),
                .optional(metadata.appVersion, SQLValue.text), .timestamp(seen.seenAt),
                .bool(registration.reactivates), .timestamp(seen.session.createdAt),
                .bool(registration.devicesMax != nil),
            ])
        guard let row = device.first, try row.uuid("id") == deviceID, try row.text("status") == "active",
            try !row.bool("has_given_way")
        else {
            transaction.rollBackAtEnd()
            return .changed
        }
        if let push {
            _ = try await transaction.run(
                Self.setPushToken,
                [.uuid(deviceID), .text(push.provider), .bytes(push.token), .bytes(push.fingerprint)])
        }
        // An exchange ties the session to the device; only `GET /auth/token` binds it.
        let bound = registration.deviceSession == nil ? deviceID : nil
        // Signed out, or one of its devices held, since it was looked at.
        guard try await remember(seen, boundTo: bound, in: transaction) == .registered else { return .changed }
        _ = try await transaction.run(
            Self.tie, [.text(seen.session.id), .uuid(deviceID), .timestamp(seen.seenAt)])
        if let session = registration.deviceSession {
            try await start(session, seen: seen, on: deviceID, in: transaction)
        }
        return .registered
    }

    private func start(
        _ session: DeviceSessionStart, seen: SeenSession, on deviceID: UUID, in transaction: Transaction
    ) async throws(DatabaseError) {
        _ = try await transaction.run(
            Self.supersede,
            [.uuid(deviceID), .timestamp(seen.seenAt), .int64(Int64(AuthDomain.Limits.liveSessionsPerDevice - 1))])
        _ = try await transaction.run(
            Self.startSession,
            [
                .uuid(session.id), .text(seen.session.userID), .uuid(deviceID), .text(seen.session.id),
                .text(session.clientID), .text(session.scopes.description), .timestamp(session.authTime),
                .textArray(session.amr), .timestamp(seen.seenAt), .timestamp(session.expiresAt),
                .bytes(session.sealedSecret), .int64(session.issued.generation), .text(session.issued.kid),
                .timestamp(session.issued.issuedAt), .timestamp(session.issued.expiresAt), .bool(session.isVerified),
            ])
    }

    private func sealed(_ push: PushRegistration, for deviceID: UUID) throws(Unavailability) -> SealedPush {
        let keyring = try keys.required()
        do throws(CryptoError) {
            return SealedPush(
                provider: push.provider.rawValue,
                token: try sealing.seal(
                    Array(push.token.exposed.utf8), context: "push-token:\(deviceID)", random: random),
                fingerprint: keyring.hasher.hash(push.token.exposed, purpose: "push-token"))
        } catch {
            throw .misconfigured
        }
    }

    private static let makeRoom = Statement(
        "make_room_for_device", "SELECT sallyport.make_room_for_device($1, $2::integer, $3) AS full_until",
        [.text, .int64, .timestamp])

    /// A held device comes back only by a session that was made after it was held.
    private static let registerDevice = Statement(
        "register_device",
        """
        INSERT INTO sallyport.devices AS d (id, user_id, installation_id, platform, name, model, os_version,
            app_version, status_at, created_at, last_seen_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $9)
        ON CONFLICT (user_id, installation_id) DO UPDATE SET platform = $4, name = COALESCE($5, d.name),
            model = COALESCE($6, d.model), os_version = COALESCE($7, d.os_version),
            app_version = COALESCE($8, d.app_version), last_seen_at = $9,
            status = CASE WHEN $10 AND d.status IN ('revoked', 'wipe_ordered') AND d.status_at < $11
                THEN 'active' ELSE d.status END,
            status_at = CASE WHEN $10 AND d.status IN ('revoked', 'wipe_ordered') AND d.status_at < $11
                THEN $9 ELSE d.status_at END,
            superseded_at = CASE WHEN $12 THEN NULL ELSE d.superseded_at END
        RETURNING d.id, d.status, d.superseded_at IS NOT NULL AS has_given_way
        """,
        [.uuid, .text, .text, .text, .text, .text, .text, .text, .timestamp, .bool, .timestamp, .bool])

    /// By user (together, as in `joinUser`), installation and push token, in this order everywhere. The locks come in a
    /// statement of their own: the next one sees what those before it have committed.
    private static let takeTurns = Statement(
        "take_registration_turns",
        """
        SELECT pg_advisory_xact_lock_shared(hashtextextended($1, 1)), pg_advisory_xact_lock(hashtextextended($2, 2)),
            CASE WHEN $3 IS NOT NULL THEN pg_advisory_xact_lock(hashtextextended(encode($3, 'hex'), 3)) END
        """, [.text, .text, .bytes])

    /// The installation has a new user, or the push token a new device: what was bound before is no longer. Rows are
    /// locked in the order of their ids, the device's own among them.
    private static let takePushToken = Statement(
        "take_push_token",
        """
        WITH met AS MATERIALIZED (
            SELECT id FROM sallyport.devices
            WHERE id = $1 OR installation_id = $2 AND user_id <> $3 AND push_fingerprint IS NOT NULL
                OR push_fingerprint = $4
            ORDER BY id FOR UPDATE
        )
        UPDATE sallyport.devices d SET push_provider = NULL, sealed_push_token = NULL, push_fingerprint = NULL
        FROM met WHERE d.id = met.id AND d.id <> $1
        """, [.uuid, .text, .text, .bytes])

    private static let setPushToken = Statement(
        "set_push_token",
        """
        UPDATE sallyport.devices SET push_provider = $2, sealed_push_token = $3, push_fingerprint = $4 WHERE id = $1
        """, [.uuid, .text, .bytes, .bytes])

    private static let tie = Statement(
        "tie_session",
        """
        INSERT INTO sallyport.session_ties (identity_session_id, device_id, tied_at) VALUES ($1, $2, $3)
        ON CONFLICT (identity_session_id, device_id) DO NOTHING
        """, [.text, .uuid, .timestamp])

    /// Those past their absolute end go first, for they add up too, and by their own reason.
    private static let supersede = Statement(
        "supersede_sessions",
        """
        UPDATE sallyport.device_sessions SET ended_at = $2,
            end_reason = CASE WHEN expires_at > $2 THEN 'superseded' ELSE 'refresh_expired' END
        WHERE ended_at IS NULL AND id = ANY(ARRAY(
            SELECT s.id FROM sallyport.device_sessions s WHERE s.device_id = $1 AND s.ended_at IS NULL
            ORDER BY s.expires_at > $2 DESC, s.rotated_at DESC, s.id OFFSET $3))
        """, [.uuid, .timestamp, .int64])

    private static let startSession = Statement(
        "start_session",
        """
        WITH started AS (
            INSERT INTO sallyport.device_sessions (id, user_id, device_id, identity_session_id, client_id, scope,
                auth_time, amr, created_at, expires_at, sealed_secret, generation, refresh_kid, issued_at,
                token_expires_at, rotated_at, was_verified)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $9, $16)
            RETURNING id
        )
        INSERT INTO sallyport.audit_events (at, event, user_id, device_session_id, device_id)
        SELECT $9, 'session_started', $2, id, $3 FROM started
        """,
        [
            .uuid, .text, .uuid, .text, .text, .text, .timestamp, .textArray, .timestamp, .timestamp, .bytes, .int64,
            .text, .timestamp, .timestamp, .bool,
        ])
}
