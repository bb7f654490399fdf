package import AuthDomain
import Postgres
package import Primitives

extension PostgresStore: DeviceStore {
    package func devices(of userID: String) async throws(Unavailability) -> [Device] {
        try await reading { () async throws(DatabaseError) in
            let rows = try await databases.current.main.read(Self.devicesOfUser, [.text(userID)])
            var devices: [Device] = []
            for row in rows { devices.append(try Device(row: row)) }
            return devices
        }
    }

    package func device(_ id: UUID, of userID: String) async throws(Unavailability) -> Device? {
        try await reading { () async throws(DatabaseError) in
            try await databases.current.main.read(Self.deviceOfUser, [.uuid(id), .text(userID)])
                .first.map(Device.init(row:))
        }
    }

    package func updateDevice(
        _ id: UUID, of userID: String, name: String?, appVersion: String?
    ) async throws(Unavailability) -> Device? {
        try await reading { () async throws(DatabaseError) in
            let rows = try await databases.current.main.write(
                Self.renameDevice,
                [
                    .uuid(id), .text(userID), .optional(name, SQLValue.text),
                    .optional(appVersion, SQLValue.text),
                ])
            guard !rows.isEmpty else { return nil }
            return try await databases.current.main.read(Self.deviceOfUser, [.uuid(id), .text(userID)])
                .first.map(Device.init(row:))
        }
    }

    package func revokeDevice(
        _ id: UUID, of userID: String, status: DeviceStatus, at now: Timestamp
    ) async throws(Unavailability) -> Bool {
        try await reading { () async throws(DatabaseError) in
            let main = databases.current.main
            return try await main.retryingContention { () async throws(DatabaseError) in
                try await main.transaction { transaction async throws(DatabaseError) in
                    try await self.hold(id, of: userID, status, at: now, in: transaction)
                }
            }
        }
    }

    /// `false` where there is no such device of the user.
    func hold(
        _ id: UUID, of userID: String, _ status: DeviceStatus, at now: Timestamp, in transaction: Transaction
    ) async throws(DatabaseError) -> Bool {
        let held = try await transaction.run(
            Self.holdDevice, [.uuid(id), .text(userID), .text(status.rawValue), .timestamp(now)])
        guard !held.isEmpty else {
            // Held already, which is what was asked for; or not there.
            return try await !transaction.run(Self.deviceOfUser, [.uuid(id), .text(userID)]).isEmpty
        }
        try await endSessions(ofDevice: id, status, at: now, in: transaction)
        return true
    }

    package func revokeDevices(
        of userID: String, except kept: UUID?, at now: Timestamp
    ) async throws(Unavailability) {
        try await reading { () async throws(DatabaseError) in
            let main = databases.current.main
            try await main.retryingContention { () async throws(DatabaseError) in
                try await main.transaction { transaction async throws(DatabaseError) in
                    let held = try await transaction.run(
                        Self.holdOtherDevices,
                        [.text(userID), .optional(kept, SQLValue.uuid), .timestamp(now)])
                    for row in held {
                        try await self.endSessions(
                            ofDevice: try row.uuid("id"), .revoked, at: now, in: transaction)
                    }
                }
            }
        }
    }

    package func clearLostDevice(
        _ id: UUID, of userID: String, at now: Timestamp
    ) async throws(Unavailability) {
        try await reading { () async throws(DatabaseError) in
            _ = try await databases.current.main.write(
                Self.clearLost, [.uuid(id), .text(userID), .timestamp(now)])
        }
    }

    private func endSessions(
        ofDevice id: UUID, _ status: DeviceStatus, at now: Timestamp, in transaction: Transaction
    ) async throws(DatabaseError) {
        guard let reason = status.holdsReason else { return }
        let values: [SQLValue] = [.uuid(id), .text(reason.rawValue), .timestamp(now)]
        _ = try await transaction.run(Self.endDeviceSessions, values)
        _ = try await transaction.run(Self.endTiedSessions, values)
    }

    private static let renameDevice = Statement(
        "update_device",
        """
        UPDATE sallyport.devices SET name = COALESCE($3, name), app_version = COALESCE($4, app_version)
        WHERE id = $1 AND user_id = $2 RETURNING id
        """, [.uuid, .text, .text, .text])

    /// Idempotent: a device that is held already keeps its state and the time of it. What was revoked may turn out to be
    /// lost, which no new session undoes.
    private static let holdDevice = Statement(
        "hold_device",
        """
        WITH held AS (
            UPDATE sallyport.devices SET status = $3, status_at = $4, push_provider = NULL, sealed_push_token = NULL,
                push_fingerprint = NULL
            WHERE id = $1 AND user_id = $2
                AND (status IN ('active', 'suspended') OR status = 'revoked' AND $3 = 'lost')
            RETURNING id, user_id
        )
        INSERT INTO sallyport.audit_events (at, event, user_id, device_id, reason)
        SELECT $4, 'device_held', user_id, id, $3 FROM held RETURNING device_id AS id
        """, [.uuid, .text, .text, .timestamp])

    private static let clearLost = Statement(
        "clear_lost_device",
        """
        WITH cleared AS (
            UPDATE sallyport.devices SET status = 'active', status_at = $3
            WHERE id = $1 AND user_id = $2 AND status = 'lost' RETURNING id, user_id
        )
        INSERT INTO sallyport.audit_events (at, event, user_id, device_id, reason)
        SELECT $3, 'device_released', user_id, id, 'found' FROM cleared
        """, [.uuid, .text, .timestamp])

    private static let holdOtherDevices = Statement(
        "hold_other_devices",
        """
        WITH held AS (
            UPDATE sallyport.devices SET status = 'revoked', status_at = $3, push_provider = NULL,
                sealed_push_token = NULL, push_fingerprint = NULL
            WHERE user_id = $1 AND ($2 IS NULL OR id <> $2) AND status IN ('active', 'suspended')
            RETURNING id, user_id
        )
        INSERT INTO sallyport.audit_events (at, event, user_id, device_id, reason)
        SELECT $3, 'device_held', user_id, id, 'revoked' FROM held RETURNING device_id AS id
        """, [.text, .uuid, .timestamp])

    private static let endDeviceSessions = Statement(
        "end_sessions_of_device",
        """
        UPDATE sallyport.device_sessions SET ended_at = $3, end_reason = $2
        WHERE device_id = $1 AND ended_at IS NULL
        """, [.uuid, .text, .timestamp])

    /// The device may come back, by a new sign-in; the sessions that it was used with do not.
    private static let endTiedSessions = Statement(
        "end_tied_sessions",
        """
        UPDATE sallyport.identity_sessions SET ended_at = $3, end_reason = $2 WHERE ended_at IS NULL AND id IN (
            SELECT identity_session_id FROM sallyport.session_ties WHERE device_id = $1)
        """, [.uuid, .text, .timestamp])

    private static let devicesOfUser = Statement(
        "devices_of_user",
        """
        SELECT d.id, d.user_id, d.installation_id, d.platform, d.name, d.model, d.os_version, d.app_version, d.status,
            d.status_at, d.created_at, d.last_sync_at, d.push_fingerprint IS NOT NULL AS is_push_registered,
            GREATEST(d.last_seen_at, (SELECT max(s.rotated_at) FROM sallyport.device_sessions s
                WHERE s.device_id = d.id)) AS last_seen_at
        FROM sallyport.devices d WHERE d.user_id = $1 ORDER BY d.created_at, d.id
        """, [.text])

    private static let deviceOfUser = Statement(
        "device_of_user",
        """
        SELECT d.id, d.user_id, d.installation_id, d.platform, d.name, d.model, d.os_version, d.app_version, d.status,
            d.status_at, d.created_at, d.last_sync_at, d.push_fingerprint IS NOT NULL AS is_push_registered,
            GREATEST(d.last_seen_at, (SELECT max(s.rotated_at) FROM sallyport.device_sessions s
                WHERE s.device_id = d.id)) AS last_seen_at
        FROM sallyport.devices d WHERE d.id = $1 AND d.user_id = $2
        """, [.uuid, .text])

    static let deviceByInstallation = Statement(
        "device_by_installation",
        """
        SELECT d.id, d.user_id, d.installation_id, d.platform, d.name, d.model, d.os_version, d.app_version, d.status,
            d.status_at, d.created_at, d.last_sync_at, d.push_fingerprint IS NOT NULL AS is_push_registered,
            GREATEST(d.last_seen_at, (SELECT max(s.rotated_at) FROM sallyport.device_sessions s
                WHERE s.device_id = d.id)) AS last_seen_at
        FROM sallyport.devices d WHERE d.user_id = $1 AND d.installation_id = $2
        """, [.text, .text])
}
