package import AuthDomain
package import Postgres
package import Primitives

/// Devices as an operator sees and holds them.
package enum DeviceRoster {
    package struct Entry: Equatable, Sendable {
        package let id: UUID
        package let userID: String
        package let installationID: String
        package let platform: String
        package let name: String?
        package let status: String
        package let lastSeenAt: Timestamp
    }

    /// The newest first; of one user where one is named.
    package static func list(
        of userID: String?, limit: Int, in database: Database
    ) async throws(DatabaseError) -> [Entry] {
        let rows = try await database.read(all, [.optional(userID, SQLValue.text), .int64(Int64(limit))])
        var entries: [Entry] = []
        for row in rows {
            entries.append(
                Entry(
                    id: try row.uuid("id"), userID: try row.text("user_id"),
                    installationID: try row.text("installation_id"), platform: try row.text("platform"),
                    name: try row.optionalText("name"), status: try row.text("status"),
                    lastSeenAt: try row.timestamp("last_seen_at")))
        }
        return entries
    }

    /// Holds a device and ends what it was used with, as the routes do; idempotent. `false`: there is none of that id.
    package static func hold(
        _ id: UUID, as reason: RefusalReason, at now: Timestamp, in database: Database
    ) async throws(DatabaseError) -> Bool {
        let rows = try await database.retryingContention { () async throws(DatabaseError) in
            try await database.write(hold, [.uuid(id), .text(reason.rawValue), .timestamp(now)])
        }
        guard let row = rows.first else { throw .unavailable(.misconfigured) }
        return try row.bool("is_there")
    }

    /// Suspends an active device, or makes a suspended one active; its sessions wait. `false` for one in another state.
    package static func setSuspended(
        _ id: UUID, _ isSuspended: Bool, at now: Timestamp, in database: Database
    ) async throws(DatabaseError) -> Bool {
        try await !database.write(
            suspend,
            [
                .uuid(id), .text(isSuspended ? "active" : "suspended"), .text(isSuspended ? "suspended" : "active"),
                .timestamp(now), .text(isSuspended ? "device_suspended" : "device_resumed"),
            ]
        ).isEmpty
    }

    private static let all = Statement(
        "list_devices",
        """
        SELECT d.id, d.user_id, d.installation_id, d.platform, d.name, d.status,
            GREATEST(d.last_seen_at, (SELECT max(s.rotated_at) FROM sallyport.device_sessions s
                WHERE s.device_id = d.id AND s.ended_at IS NULL)) AS last_seen_at
        FROM sallyport.devices d WHERE $1 IS NULL OR d.user_id = $1 ORDER BY d.created_at DESC, d.id LIMIT $2
        """, [.text, .int64])

    private static let hold = Statement(
        "hold_device_by_order", "SELECT sallyport.revoke_device($1, $2, $3) AS is_there", [.uuid, .text, .timestamp])

    private static let suspend = Statement(
        "suspend_device",
        """
        WITH changed AS (
            UPDATE sallyport.devices SET status = $3, status_at = $4 WHERE id = $1 AND status = $2
            RETURNING id, user_id
        )
        INSERT INTO sallyport.audit_events (at, event, user_id, device_id)
        SELECT $4, $5, user_id, id FROM changed RETURNING device_id AS id
        """, [.uuid, .text, .text, .timestamp, .text])
}
