package import AuthDomain
import Postgres
package import Primitives
import Telemetry

extension PostgresStore: IdentityWatchStore {
    package var mayBeBehind: Bool { databases.mayReadReplica }

    package func claimTurn(every interval: Duration, at now: Timestamp) async throws(Unavailability) -> Bool {
        try await reading { () async throws(DatabaseError) in
            let rows = try await databases.current.main.write(
                Self.claimTurn, [.timestamp(now), .timestamp(now - interval)])
            return !rows.isEmpty
        }
    }

    package func linkedSessions(
        after previous: LinkedSession?, inDoubt: Bool, limit: Int, at now: Timestamp
    ) async throws(Unavailability) -> [LinkedSession] {
        try await reading { () async throws(DatabaseError) in
            let rows = try await databases.current.main.read(
                Self.linkedSessions,
                [
                    .timestamp(now), .text(previous?.userID ?? ""), .text(previous?.id ?? ""), .bool(inDoubt),
                    .int64(Int64(limit)),
                ])
            var sessions: [LinkedSession] = []
            for row in rows { sessions.append(try LinkedSession(row: row)) }
            return sessions
        }
    }

    package func sightings(of sessions: [LinkedSession]) async throws(Unavailability) -> [SessionSighting] {
        guard !sessions.isEmpty else { return [] }
        return try await reading { () async throws(DatabaseError) in
            let database = databases.current.identity
            let known = sessions.filter(canStand)
            let rows = database.beginRead(identity.sessionsByID, [.textArray(known.map(\.id))])
            let users = database.beginRead(identity.usersByID, [.textArray(known.map(\.userID))])
            var found: [String: (userID: String?, expiresAt: Int64?)] = [:]
            for row in try await rows.rows() {
                found[try row.text("session_id")] = (
                    try row.optionalText("session_user_id"), try row.optionalInt64("session_expires_at")
                )
            }
            var userIDs: Set<String> = []
            for row in try await users.rows() { userIDs.insert(try row.text("user_id")) }
            let sightings = sessions.map { session in
                guard canStand(session) else { return SessionSighting.unreadable }
                let row = found[session.id]
                if let row, row.userID == nil || row.expiresAt == nil { return .unreadable }
                // An id that another user has now names another sign-in.
                let isTheirs = row?.userID == session.userID
                return SessionSighting(
                    expiresAt: isTheirs ? row?.expiresAt.map(Timestamp.init(microsecondsSinceEpoch:)) : nil,
                    isUserThere: userIDs.contains(session.userID))
            }
            report(zip(sessions, sightings).filter { !$1.isReadable }.map(\.0.id))
            return sightings
        }
    }

    private func canStand(_ session: LinkedSession) -> Bool {
        identity.catalog.canHold(session.id, in: .sessionID) && identity.catalog.canHold(session.userID, in: .userID)
    }

    private func report(_ unreadable: [String]) {
        guard !unreadable.isEmpty else { return }
        unreadableRows?.add(UInt64(unreadable.count))
        logger.warning(
            "rows of linked sessions cannot be read: no verdict is given on them",
            [
                LogField("identity.rows", unreadable.count),
                LogField(
                    "identity.session_ids", unreadable.prefix(AuthDomain.Limits.reportedRows).joined(separator: " ")),
            ])
    }

    package func linkedSample(users: Int, at now: Timestamp) async throws(Unavailability) -> [LinkedSession] {
        let start = random.bytes(8).reduce(Int64(0)) { $0 << 8 | Int64($1) }
        return try await reading { () async throws(DatabaseError) in
            let main = databases.current.main
            var sessions: [LinkedSession] = []
            // From a random place to the end, then from the beginning to that place.
            for (from, to) in [(start, Int64.max), (.min, start == .min ? start : start - 1)] {
                let missing = users - Set(sessions.map(\.userID)).count
                guard missing > 0 else { break }
                let rows = try await main.read(
                    Self.linkedSample, [.timestamp(now), .int64(from), .int64(to), .int64(Int64(missing))])
                for row in rows { sessions.append(try LinkedSession(row: row)) }
            }
            return sessions
        }
    }

    package func noteCompletion(at now: Timestamp) async throws(Unavailability) {
        try await reading { () async throws(DatabaseError) in
            _ = try await databases.current.main.write(Self.noteCompletion, [.timestamp(now)])
        }
    }

    package func isHidingRows() async throws(Unavailability) -> Bool {
        let visibility = try await reading { () async throws(DatabaseError) in
            try await IdentityVisibility.read(identity.visibility, from: databases.current.identity)
        }
        guard visibility.contains(where: \.mayHide), visibility.count == 2 else { return false }
        let empty = try await emptyTables()
        return empty.session && visibility[0].mayHide || empty.user && visibility[1].mayHide
    }

    package func note(_ steps: [(LinkedSession, SightingStep)], at now: Timestamp) async throws(Unavailability) {
        var kept: (ids: [String], expiries: [Int64]) = ([], [])
        var doubted: [RefusalReason: [String]] = [:]
        for (linked, step) in steps {
            switch step {
            case .nothing, .end: break
            case .keep(let expiresAt):
                kept.ids.append(linked.id)
                kept.expiries.append(expiresAt.microsecondsSinceEpoch)
            case .doubt(let reason): doubted[reason, default: []].append(linked.id)
            }
        }
        try await reading { () async throws(DatabaseError) in
            let main = databases.current.main
            if !kept.ids.isEmpty {
                _ = try await main.write(
                    Self.keepSessions, [.textArray(kept.ids), .int64Array(kept.expiries), .timestamp(now)])
            }
            for (reason, ids) in doubted {
                _ = try await main.write(
                    Self.doubtSessions, [.textArray(ids), .text(reason.rawValue), .timestamp(now)])
            }
        }
    }

    package func endDoubted(
        _ sessionIDs: [String], reason: RefusalReason, at now: Timestamp
    ) async throws(Unavailability) {
        try await reading { () async throws(DatabaseError) in
            let main = databases.current.main
            try await main.retryingContention { () async throws(DatabaseError) in
                _ = try await main.write(
                    Self.endDoubted, [.textArray(sessionIDs), .text(reason.rawValue), .timestamp(now)])
            }
        }
    }

    package func emptyTables() async throws(Unavailability) -> (session: Bool, user: Bool) {
        try await reading { () async throws(DatabaseError) in
            guard let row = try await databases.current.identity.read(identity.emptyTables).first else {
                throw .unavailable(.misconfigured)
            }
            return (try row.bool("is_session_empty"), try row.bool("is_user_empty"))
        }
    }

    package func isTableMissing() async throws(Unavailability) -> Bool {
        try await reading { () async throws(DatabaseError) in
            guard let row = try await databases.current.identity.read(identity.missingTables).first else {
                throw .unavailable(.misconfigured)
            }
            return try row.bool("is_missing")
        }
    }

    private static let claimTurn = Statement(
        "claim_identity_turn",
        """
        UPDATE sallyport.identity_watches SET looked_at = $1
        WHERE looked_at IS NULL OR looked_at <= $2 OR looked_at > $1 RETURNING id
        """, [.timestamp, .timestamp])

    private static let noteCompletion = Statement(
        "note_identity_look", "UPDATE sallyport.identity_watches SET completed_at = $1", [.timestamp])

    /// Users in the order of a hash, from `$2` on; those of whom nothing rests on the identity store are passed over, and
    /// of each other user the newest sessions are enough. Each step is one probe of an index.
    private static let linkedSample = Statement(
        "linked_sample",
        """
        WITH RECURSIVE candidates (place, user_id) AS (
            (SELECT hashtextextended(user_id, 2), user_id FROM sallyport.identity_sessions
                WHERE ended_at IS NULL AND hashtextextended(user_id, 2) >= $2
                ORDER BY hashtextextended(user_id, 2), user_id LIMIT 1)
            UNION ALL
            SELECT n.place, n.user_id FROM candidates c, LATERAL (
                SELECT hashtextextended(i.user_id, 2) AS place, i.user_id FROM sallyport.identity_sessions i
                WHERE c.place <= $3 AND i.ended_at IS NULL AND (hashtextextended(i.user_id, 2), i.user_id) > (c.place, c.user_id)
                ORDER BY hashtextextended(i.user_id, 2), i.user_id LIMIT 1
            ) n
        ), linked AS (
            SELECT c.user_id, s.id, s.expires_at, s.doubted_at, s.doubt_reason, dense_rank() OVER (ORDER BY c.place, c.user_id)
                AS user_number
            FROM (SELECT place, user_id FROM candidates WHERE place <= $3 LIMIT 3 * $4) c, LATERAL (
                SELECT i.id, i.expires_at, i.doubted_at, i.doubt_reason FROM sallyport.identity_sessions i
                WHERE i.user_id = c.user_id AND i.ended_at IS NULL
                    AND (i.expires_at > $1 OR i.doubted_at IS NOT NULL OR EXISTS (SELECT 1 FROM sallyport.device_sessions s
                        WHERE s.identity_session_id = i.id AND s.ended_at IS NULL AND s.expires_at > $1))
                ORDER BY i.id LIMIT 10
            ) s
        )
        SELECT id, user_id, expires_at, doubted_at, doubt_reason FROM linked WHERE user_number <= $4 ORDER BY user_id, id
        """, [.timestamp, .int64, .int64, .int64])

    private static let linkedSessions = Statement(
        "linked_sessions",
        """
        SELECT i.id, i.user_id, i.expires_at, i.doubted_at, i.doubt_reason FROM sallyport.identity_sessions i
        WHERE i.ended_at IS NULL AND (i.user_id, i.id) > ($2, $3)
            AND (NOT $4 OR EXISTS (SELECT 1 FROM sallyport.identity_sessions d
                WHERE d.user_id = i.user_id AND d.ended_at IS NULL AND d.doubted_at IS NOT NULL))
            AND (i.expires_at > $1 OR i.doubted_at IS NOT NULL OR EXISTS (SELECT 1 FROM sallyport.device_sessions s
                WHERE s.identity_session_id = i.id AND s.ended_at IS NULL AND s.expires_at > $1))
        ORDER BY i.user_id, i.id LIMIT $5
        """, [.timestamp, .text, .text, .bool, .int64])

    /// An exchange that has seen the session since is newer than what we have read.
    private static let keepSessions = Statement(
        "keep_linked_sessions",
        """
        UPDATE sallyport.identity_sessions i SET expires_at = 'epoch'::timestamptz + k.expiry * interval '1 microsecond',
            doubted_at = NULL, doubt_reason = NULL
        FROM unnest($1, $2) AS k (id, expiry) WHERE i.id = k.id AND i.ended_at IS NULL AND i.last_seen_at <= $3
        """, [.textArray, .int64Array, .timestamp])

    private static let doubtSessions = Statement(
        "doubt_linked_sessions",
        """
        UPDATE sallyport.identity_sessions SET doubted_at = $3, doubt_reason = $2
        WHERE id = ANY($1) AND ended_at IS NULL AND last_seen_at <= $3
        """, [.textArray, .text, .timestamp])

    /// A session that merely ran out is left to its row: it may be prolonged there.
    private static let endDoubted = Statement(
        "end_doubted_sessions",
        """
        WITH doubted AS (
            UPDATE sallyport.identity_sessions SET doubted_at = NULL, doubt_reason = NULL,
                ended_at = CASE WHEN $2 = 'session_expired' THEN NULL ELSE $3 END,
                end_reason = CASE WHEN $2 = 'session_expired' THEN NULL ELSE $2 END
            WHERE id = ANY($1) AND ended_at IS NULL AND doubt_reason = $2
                AND NOT EXISTS (SELECT 1 FROM sallyport.identity_watches WHERE disappeared_at IS NOT NULL)
            RETURNING id
        ), ended AS (
            UPDATE sallyport.device_sessions s SET ended_at = $3, end_reason = $2 FROM doubted d
            WHERE s.identity_session_id = d.id AND s.ended_at IS NULL RETURNING s.id, s.user_id, s.device_id
        )
        INSERT INTO sallyport.audit_events (at, event, user_id, device_session_id, device_id, reason)
        SELECT $3, 'session_ended', user_id, id, device_id, $2 FROM ended
        """, [.textArray, .text, .timestamp])
}

extension LinkedSession {
    init(row: Row) throws(DatabaseError) {
        let since = try row.optionalTimestamp("doubted_at")
        let reason = try row.optionalText("doubt_reason")
        var doubt: Doubt?
        if let since, let reason { doubt = Doubt(reason: try RefusalReason(stored: reason), since: since) }
        self.init(
            id: try row.text("id"), userID: try row.text("user_id"), expiresAt: try row.timestamp("expires_at"),
            doubt: doubt)
    }
}
