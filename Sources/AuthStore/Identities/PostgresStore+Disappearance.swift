package import AuthDomain
package import Postgres
package import Primitives

/// The one row of `identity_watches`.
extension PostgresStore {
    package func disappearance() async throws(Unavailability) -> IdentityDisappearance? {
        try await reading { () async throws(DatabaseError) in
            try await DisappearanceRecord.read(from: databases.current.main)
        }
    }

    package func declare(
        _ disappearance: IdentityDisappearance, at now: Timestamp
    ) async throws(Unavailability) {
        try await reading { () async throws(DatabaseError) in
            try await DisappearanceRecord.declare(disappearance, at: now, in: databases.current.main)
        }
    }

    package func confirmDisappearance(at now: Timestamp) async throws(Unavailability) -> Int? {
        try await reading { () async throws(DatabaseError) in
            try await DisappearanceRecord.confirm(at: now, in: databases.current.main)
        }
    }

    package func dismissDisappearance(at now: Timestamp) async throws(Unavailability) -> Bool {
        try await reading { () async throws(DatabaseError) in
            try await DisappearanceRecord.dismiss(at: now, in: databases.current.main)
        }
    }
}

/// What is thought of the identity store, as all servers and the commands share it.
package enum DisappearanceRecord {
    package static func read(from database: Database) async throws(DatabaseError) -> IdentityDisappearance? {
        guard let row = try await database.read(current).first else { throw .unavailable(.misconfigured) }
        guard let cause = try row.optionalText("cause") else { return nil }
        var census = IdentityCensus()
        census.knownSessions = Int(try row.int64("known_sessions"))
        census.vanishedSessions = Int(try row.int64("vanished_sessions"))
        census.knownUsers = Int(try row.int64("known_users"))
        census.vanishedUsers = Int(try row.int64("vanished_users"))
        return IdentityDisappearance(cause: try IdentityDisappearance.Cause(stored: cause), census: census)
    }

    /// When a look, of any server, has last read everything.
    package static func lastCompletion(in database: Database) async throws(DatabaseError) -> Timestamp? {
        try await database.read(completion).first?.optionalTimestamp("completed_at")
    }

    static func declare(
        _ disappearance: IdentityDisappearance, at now: Timestamp, in database: Database
    ) async throws(DatabaseError) {
        let census = disappearance.census
        _ = try await database.write(
            declare,
            [
                .timestamp(now), .text(disappearance.cause.rawValue), .int64(Int64(census.knownSessions)),
                .int64(Int64(census.vanishedSessions)), .int64(Int64(census.knownUsers)),
                .int64(Int64(census.vanishedUsers)),
            ])
    }

    /// Returns how many sessions were in doubt; `nil` where nothing was to confirm.
    package static func confirm(at now: Timestamp, in database: Database) async throws(DatabaseError) -> Int? {
        try await database.retryingContention { () async throws(DatabaseError) in
            try await database.transaction { transaction async throws(DatabaseError) in
                guard try await !transaction.run(close, [.timestamp(now), .text("confirmed")]).isEmpty else {
                    return nil
                }
                return try await transaction.run(endAllDoubted, [.timestamp(now)]).count
            }
        }
    }

    /// `false` where nothing was to dismiss.
    package static func dismiss(at now: Timestamp, in database: Database) async throws(DatabaseError) -> Bool {
        try await database.retryingContention { () async throws(DatabaseError) in
            try await database.transaction { transaction async throws(DatabaseError) in
                guard try await !transaction.run(close, [.timestamp(now), .text("dismissed")]).isEmpty else {
                    return false
                }
                _ = try await transaction.run(forgetDoubts)
                return true
            }
        }
    }

    private static let current = Statement(
        "identity_disappearance",
        """
        SELECT cause, known_sessions, vanished_sessions, known_users, vanished_users FROM sallyport.identity_watches
        """)

    private static let completion = Statement(
        "identity_look_completed", "SELECT completed_at FROM sallyport.identity_watches")

    private static let declare = Statement(
        "declare_disappearance",
        """
        WITH declared AS (
            UPDATE sallyport.identity_watches SET disappeared_at = $1, cause = $2, known_sessions = $3,
                vanished_sessions = $4, known_users = $5, vanished_users = $6
            WHERE disappeared_at IS NULL RETURNING id
        )
        INSERT INTO sallyport.audit_events (at, event, reason)
        SELECT $1, 'identity_disappeared', $2 FROM declared
        """, [.timestamp, .text, .int64, .int64, .int64, .int64])

    private static let close = Statement(
        "close_disappearance",
        """
        WITH closed AS (
            UPDATE sallyport.identity_watches SET disappeared_at = NULL, cause = NULL
            WHERE disappeared_at IS NOT NULL RETURNING id
        )
        INSERT INTO sallyport.audit_events (at, event, reason)
        SELECT $1, 'identity_disappearance_closed', $2 FROM closed RETURNING id
        """, [.timestamp, .text])

    private static let endAllDoubted = Statement(
        "end_all_doubted_sessions",
        """
        WITH doubted AS (
            UPDATE sallyport.identity_sessions i SET doubted_at = NULL, doubt_reason = NULL,
                ended_at = CASE WHEN d.doubt_reason = 'session_expired' THEN NULL ELSE $1 END,
                end_reason = CASE WHEN d.doubt_reason = 'session_expired' THEN NULL ELSE d.doubt_reason END
            FROM sallyport.identity_sessions d
            WHERE d.id = i.id AND i.ended_at IS NULL AND i.doubted_at IS NOT NULL
            RETURNING i.id, d.doubt_reason AS reason
        ), ended AS (
            UPDATE sallyport.device_sessions s SET ended_at = $1, end_reason = d.reason FROM doubted d
            WHERE s.identity_session_id = d.id AND s.ended_at IS NULL RETURNING s.id, s.user_id, s.device_id, d.reason
        ), audited AS (
            INSERT INTO sallyport.audit_events (at, event, user_id, device_session_id, device_id, reason)
            SELECT $1, 'session_ended', user_id, id, device_id, reason FROM ended
        )
        SELECT id FROM doubted
        """, [.timestamp])

    private static let forgetDoubts = Statement(
        "forget_doubts",
        "UPDATE sallyport.identity_sessions SET doubted_at = NULL, doubt_reason = NULL WHERE doubted_at IS NOT NULL")
}
