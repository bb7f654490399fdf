package import AuthDomain
import Postgres
package import Primitives

/// Sign-outs of all of a user's sessions, those too that were never presented here.
extension PostgresStore {
    package func endAllSessions(
        of userID: String, reason: RefusalReason, at now: Timestamp
    ) async throws(Unavailability) {
        try await reading { () async throws(DatabaseError) in
            let end = SessionsEnd(
                userID: userID, reason: reason, spared: nil, readable: try await self.sessionIDs(of: userID), at: now)
            let main = databases.current.main
            try await main.retryingContention { () async throws(DatabaseError) in
                try await main.transaction { transaction async throws(DatabaseError) in
                    _ = try await transaction.run(Self.lockUser, [.text(userID)])
                    try await self.carryOut(end, in: transaction)
                }
            }
        }
    }

    package func loseDevice(
        _ id: UUID, of userID: String, sparing sessionID: String, at now: Timestamp
    ) async throws(Unavailability) -> Bool {
        try await reading { () async throws(DatabaseError) in
            let end = SessionsEnd(
                userID: userID, reason: .sessionRevoked, spared: sessionID,
                readable: try await self.sessionIDs(of: userID), at: now)
            let main = databases.current.main
            return try await main.retryingContention { () async throws(DatabaseError) in
                try await main.transaction { transaction async throws(DatabaseError) in
                    _ = try await transaction.run(Self.lockUser, [.text(userID)])
                    // The device first: its own sessions say that it is lost.
                    guard try await self.hold(id, of: userID, .lost, at: now, in: transaction) else { return false }
                    try await self.carryOut(end, in: transaction)
                    return true
                }
            }
        }
    }

    private struct SessionsEnd {
        let userID: String
        let reason: RefusalReason
        /// An identity session that goes on, with what rests on it.
        let spared: String?
        let readable: [String]
        let at: Timestamp
    }

    /// Under the user's lock: an exchange comes before all of this, or after it and finds the mark.
    private func carryOut(_ end: SessionsEnd, in transaction: Transaction) async throws(DatabaseError) {
        let spared = SQLValue.optional(end.spared, SQLValue.text)
        _ = try await transaction.run(
            Self.markUser, [.text(end.userID), .timestamp(end.at), .textArray(end.readable), spared])
        let values: [SQLValue] = [.text(end.userID), .text(end.reason.rawValue), .timestamp(end.at), spared]
        _ = try await transaction.run(Self.endDeviceSessions, values)
        _ = try await transaction.run(Self.endIdentitySessions, values)
    }

    private func sessionIDs(of userID: String) async throws(DatabaseError) -> [String] {
        let rows = try await databases.current.identity.read(
            identity.sessionsOfUser, [.text(userID), .int64(Int64(Limits.markedSessionsMax))])
        var ids: [String] = []
        for row in rows { ids.append(try row.text("session_id")) }
        return ids
    }

    /// Exchanges of the user hold it together; `sallyport.end_sessions` takes it as well.
    private static let lockUser = Statement(
        "lock_user", "SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", [.text])

    /// What the last mark could read and this one cannot stays refused while times do not tell; `sallyport.end_sessions`
    /// does the same.
    private static let markUser = Statement(
        "mark_user",
        """
        INSERT INTO sallyport.user_marks AS m (user_id, marked_at, session_ids, spared_id)
        VALUES ($1, $2, array_remove($3, $4), $4)
        ON CONFLICT (user_id) DO UPDATE SET marked_at = $2, spared_id = $4,
            session_ids = EXCLUDED.session_ids || CASE WHEN m.marked_at > $2 - interval '1 hour'
                THEN ARRAY(SELECT unnest(m.session_ids) EXCEPT SELECT unnest($3 || $4)) ELSE '{}' END
        """, [.text, .timestamp, .textArray, .text])

    private static let endDeviceSessions = Statement(
        "end_device_sessions",
        """
        WITH ended AS (
            UPDATE sallyport.device_sessions SET ended_at = $3, end_reason = $2
            WHERE user_id = $1 AND ended_at IS NULL AND identity_session_id IS DISTINCT FROM $4
            RETURNING id, user_id, device_id
        )
        INSERT INTO sallyport.audit_events (at, event, user_id, device_session_id, device_id, reason)
        SELECT $3, 'session_ended', user_id, id, device_id, $2 FROM ended
        """, [.text, .text, .timestamp, .text])

    private static let endIdentitySessions = Statement(
        "end_identity_sessions",
        """
        UPDATE sallyport.identity_sessions SET ended_at = $3, end_reason = $2
        WHERE user_id = $1 AND ended_at IS NULL AND id IS DISTINCT FROM $4
        """, [.text, .text, .timestamp, .text])

    /// `$3` the session's `createdAt` and the skew of clocks.
    static let sessionMark = Statement(
        "session_mark",
        """
        SELECT EXISTS (SELECT 1 FROM sallyport.user_marks m WHERE m.user_id = $1 AND ($2 = ANY(m.session_ids)
            OR m.marked_at > $3 AND m.spared_id IS DISTINCT FROM $2)) AS is_marked
        """, [.text, .text, .timestamp])
}
