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
            let rows = try await write(
                Self.holdDevice, [.uuid(id), .text(userID), .text(status.rawValue), .timestamp(now)])
            return try rows.first?.bool("is_there") ?? false
        }
    }

    /// `false` where there is no such device of the user.
    func hold(
        _ id: UUID, of userID: String, _ status: DeviceStatus, at now: Timestamp, in transaction: Transaction
    ) async throws(DatabaseError) -> Bool {
        let rows = try await transaction.run(
            Self.holdDevice, [.uuid(id), .text(userID), .text(status.rawValue), .timestamp(now)])
        return try rows.first?.bool("is_there") ?? false
    }

    package func revokeDevices(
        of userID: String, except kept: UUID?, at now: Timestamp
    ) async throws(Unavailability) {
        try await reading { () async throws(DatabaseError) in
            _ = try await write(
                Self.revokeOtherDevices, [.text(userID), .optional(kept, SQLValue.uuid), .timestamp(now)])
        }
    }

    package func clearLostDevice(
        _ id: UUID, of userID: String, devicesMax: Int, at now: Timestamp
    ) async throws(Unavailability) -> Timestamp? {
        try await reading { () async throws(DatabaseError) in
            let rows = try await write(
                Self.releaseDevice, [.uuid(id), .text(userID), .int64(Int64(devicesMax)), .timestamp(now)])
            return try rows.first?.optionalTimestamp("full_until")
        }
    }

    /// One statement that locks rows of several tables: two of them may have to try again.
    private func write(_ statement: Statement, _ values: [SQLValue]) async throws(DatabaseError) -> Rows {
        let main = databases.current.main
        return try await main.retryingContention { () async throws(DatabaseError) in
            try await main.write(statement, values)
        }
    }

    private static let renameDevice = Statement(
        "update_device",
        """
        UPDATE sallyport.devices SET name = COALESCE($3, name), app_version = COALESCE($4, app_version)
        WHERE id = $1 AND user_id = $2 RETURNING id
        """, [.uuid, .text, .text, .text])

    private static let holdDevice = Statement(
        "hold_device",
        """
        SELECT sallyport.hold_devices($2, ARRAY[$1], $3, $4) AS held_count,
            EXISTS (SELECT 1 FROM sallyport.devices WHERE id = $1 AND user_id = $2) AS is_there
        """, [.uuid, .text, .text, .timestamp])

    private static let revokeOtherDevices = Statement(
        "revoke_other_devices", "SELECT sallyport.revoke_other_devices($1, $2, $3) AS held_count",
        [.text, .uuid, .timestamp])

    private static let releaseDevice = Statement(
        "release_device", "SELECT sallyport.release_device($1, $2, $3::integer, $4) AS full_until",
        [.uuid, .text, .int64, .timestamp])

    /// `Limits.heldDevicesListed` of each held status: what a user has revoked adds up.
    private static let devicesOfUser = Statement(
        "devices_of_user",
        """
        SELECT d.id, d.user_id, d.installation_id, d.platform, d.name, d.model, d.os_version, d.app_version, d.status,
            d.status_at, d.created_at, d.last_sync_at, d.push_fingerprint IS NOT NULL AS is_push_registered,
            d.superseded_at IS NOT NULL AS has_given_way,
            GREATEST(d.last_seen_at, (SELECT max(s.rotated_at) FROM sallyport.device_sessions s
                WHERE s.device_id = d.id AND s.ended_at IS NULL)) AS last_seen_at
        FROM sallyport.devices d WHERE d.id = ANY(ARRAY(
            (SELECT id FROM sallyport.devices
                WHERE CASE WHEN status IN ('active', 'suspended') AND superseded_at IS NULL THEN user_id END = $1)
            UNION ALL (SELECT id FROM sallyport.devices
                WHERE user_id = $1 AND status = 'lost' ORDER BY status_at LIMIT 100)
            UNION ALL (SELECT id FROM sallyport.devices
                WHERE user_id = $1 AND status = 'wipe_ordered' ORDER BY status_at LIMIT 100)
            UNION ALL (SELECT id FROM sallyport.devices
                WHERE user_id = $1 AND status = 'revoked' ORDER BY status_at DESC LIMIT 100)))
        ORDER BY d.created_at, d.id
        """, [.text])

    private static let deviceOfUser = Statement(
        "device_of_user",
        """
        SELECT d.id, d.user_id, d.installation_id, d.platform, d.name, d.model, d.os_version, d.app_version, d.status,
            d.status_at, d.created_at, d.last_sync_at, d.push_fingerprint IS NOT NULL AS is_push_registered,
            d.superseded_at IS NOT NULL AS has_given_way,
            GREATEST(d.last_seen_at, (SELECT max(s.rotated_at) FROM sallyport.device_sessions s
                WHERE s.device_id = d.id AND s.ended_at IS NULL)) AS last_seen_at
        FROM sallyport.devices d WHERE d.id = $1 AND d.user_id = $2
        """, [.uuid, .text])

    static let deviceByInstallation = Statement(
        "device_by_installation",
        """
        SELECT d.id, d.user_id, d.installation_id, d.platform, d.name, d.model, d.os_version, d.app_version, d.status,
            d.status_at, d.created_at, d.last_sync_at, d.push_fingerprint IS NOT NULL AS is_push_registered,
            d.superseded_at IS NOT NULL AS has_given_way,
            GREATEST(d.last_seen_at, (SELECT max(s.rotated_at) FROM sallyport.device_sessions s
                WHERE s.device_id = d.id AND s.ended_at IS NULL)) AS last_seen_at
        FROM sallyport.devices d WHERE d.user_id = $1 AND d.installation_id = $2
        """, [.text, .text])
}
