import AuthDomain
package import Postgres
package import Primitives

/// Device sessions as an operator sees and ends them.
package enum SessionRoster {
    package struct Entry: Equatable, Sendable {
        package let id: UUID
        package let userID: String
        package let deviceID: UUID
        package let createdAt: Timestamp
        package let refreshedAt: Timestamp
        package let expiresAt: Timestamp
    }

    /// Live ones, the newest first; of one user where one is named.
    package static func live(
        of userID: String?, limit: Int, at now: Timestamp, in database: Database
    ) async throws(DatabaseError) -> [Entry] {
        let rows = try await database.read(
            list, [.optional(userID, SQLValue.text), .timestamp(now), .int64(Int64(limit))])
        var entries: [Entry] = []
        for row in rows {
            entries.append(
                Entry(
                    id: try row.uuid("id"), userID: try row.text("user_id"), deviceID: try row.uuid("device_id"),
                    createdAt: try row.timestamp("created_at"), refreshedAt: try row.timestamp("rotated_at"),
                    expiresAt: try row.timestamp("expires_at")))
        }
        return entries
    }

    /// Ends one as `session_revoked`. `false` where there is no live one of that id.
    package static func end(
        _ id: UUID, at now: Timestamp, in database: Database
    ) async throws(DatabaseError) -> Bool {
        try await !database.write(endOne, [.uuid(id), .timestamp(now)]).isEmpty
    }

    /// Ends all of a user's, and every session of theirs that we know of. Returns how many device sessions ended.
    package static func endAll(
        of userID: String, at now: Timestamp, in database: Database
    ) async throws(DatabaseError) -> Int {
        let rows = try await database.retryingContention { () async throws(DatabaseError) in
            try await database.write(endUser, [.text(userID), .timestamp(now)])
        }
        guard let row = rows.first else { throw .unavailable(.misconfigured) }
        return Int(try row.int64("ended_count"))
    }

    private static let list = Statement(
        "list_device_sessions",
        """
        SELECT id, user_id, device_id, created_at, rotated_at, expires_at FROM sallyport.device_sessions
        WHERE ended_at IS NULL AND expires_at > $2 AND ($1 IS NULL OR user_id = $1)
        ORDER BY created_at DESC, id LIMIT $3
        """, [.text, .timestamp, .int64])

    private static let endOne = Statement(
        "revoke_device_session",
        """
        WITH ended AS (
            UPDATE sallyport.device_sessions SET ended_at = $2, end_reason = 'session_revoked'
            WHERE id = $1 AND ended_at IS NULL RETURNING id, user_id, device_id
        )
        INSERT INTO sallyport.audit_events (at, event, user_id, device_session_id, device_id, reason)
        SELECT $2, 'session_ended', user_id, id, device_id, 'session_revoked' FROM ended
        RETURNING device_session_id AS id
        """, [.uuid, .timestamp])

    private static let endUser = Statement(
        "revoke_user_sessions",
        "SELECT sallyport.end_sessions($1, 'session_revoked', $2) AS ended_count", [.text, .timestamp])
}
