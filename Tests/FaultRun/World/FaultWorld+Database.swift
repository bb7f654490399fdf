import AuthTesting
import Foundation
import EmbeddedPostgres

/// What is done to the database. Each returns how often it has struck.
extension FaultWorld {
    func terminateBackends(times: Int, within seconds: Double) throws -> Int {
        var strikes = 0
        for _ in 0..<times {
            let rows = try site.database.sql(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '\(Self.role)'")
            strikes += Int(rows.first?.first ?? "") ?? 0
            rest(seconds / Double(times))
        }
        return strikes
    }

    func crashDatabase(for seconds: Double) throws -> Int {
        let start = surroundings.now
        cluster.stop(.immediate)
        rest(seconds)
        try cluster.start()
        return refusals(since: start)
    }

    func makeReadOnly(for seconds: Double) throws -> Int {
        let start = surroundings.now
        try cluster.sql("ALTER SYSTEM SET default_transaction_read_only = on")
        try cluster.sql("SELECT pg_reload_conf()")
        rest(seconds)
        // The session that resets it has to be allowed to.
        try cluster.sql("SET default_transaction_read_only = off; ALTER SYSTEM RESET default_transaction_read_only")
        try cluster.sql("SELECT pg_reload_conf()")
        return refusals(since: start)
    }

    /// Five families, among them those that refresh most often.
    func holdLocks(of families: [String], for seconds: Double) throws -> Int {
        let start = surroundings.now
        try site.database.sql(
            """
            BEGIN;
            SELECT id FROM sallyport.device_sessions WHERE id IN (\(Self.list(families))) FOR UPDATE;
            SELECT pg_sleep(\(seconds));
            COMMIT;
            """)
        return slowAnswers(since: start, beyond: 0.5)
    }

    /// Two sessions of our own lock the rows of live families in opposite orders, while sign-ins, refreshes and
    /// revocations of the same three users go on.
    func baitDeadlocks(of families: [String], for seconds: Double) throws -> Int {
        let before = try deadlocks()
        let pair = [families, families.reversed()].map { Array($0) }
        let end = surroundings.now + seconds
        _ = try HTTPClient.together(2) { index in
            while self.surroundings.now < end {
                // One of the two is told 40P01.
                _ = try? self.site.database.sql(
                    "BEGIN;"
                        + pair[index].map {
                            "UPDATE sallyport.device_sessions SET scope = scope WHERE id = '\($0)'; SELECT pg_sleep(0.15);"
                        }.joined() + "COMMIT;")
            }
        }
        rest(1.2)
        return try deadlocks() - before
    }

    private func deadlocks() throws -> Int {
        let rows = try site.database.sql(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        return Int(rows.first?.first ?? "") ?? 0
    }

    /// Sessions of others take every connection but those that are kept for the superuser, then a table is locked.
    func exhaustConnections(for seconds: Double) throws -> Int {
        let start = surroundings.now
        var idle: [Int32] = []
        // The servers reconnect meanwhile: whoever is quicker has the place.
        for _ in 0..<3 {
            _ = try terminateBackends(times: 1, within: 0)
            while let descriptor = Self.openSession(port: cluster.port, database: site.database.name) {
                idle.append(descriptor)
            }
        }
        rest(seconds)
        let strikes = refusals(since: start)
        for descriptor in idle { Foundation.close(descriptor) }
        try site.database.sql(
            "BEGIN; LOCK TABLE sallyport.device_sessions IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(\(seconds / 2)); COMMIT;"
        )
        return strikes
    }

    /// Startup of protocol 3.0 for a user that is trusted. `nil` where the server has no connection left.
    private static func openSession(port: UInt16, database: String) -> Int32? {
        guard let descriptor = Loopback.connect(to: port) else { return nil }
        let body: [UInt8] = [0, 3, 0, 0] + Array("user\0\(guest)\0database\0\(database)\0\0".utf8)
        _ = Loopback.send(([0, 0, 0, UInt8(body.count + 4)] + body)[...], to: descriptor)
        // A refusal may come after AuthenticationOk: only ReadyForQuery is a session.
        var answer: [UInt8] = []
        while answer.suffix(6) != [UInt8(ascii: "Z"), 0, 0, 0, 5, UInt8(ascii: "I")] {
            let more = Loopback.receive(from: descriptor)
            answer += more
            if more.isEmpty { break }
        }
        if answer.last == UInt8(ascii: "I") { return descriptor }
        Foundation.close(descriptor)
        return nil
    }

    /// The postmaster stands still, its sessions are gone: new ones hang.
    func stopPostmaster(for seconds: Double) throws -> Int {
        guard let postmaster = cluster.processID else { throw Problem.noServer }
        let rows = try site.database.sql("SELECT pid FROM pg_stat_activity WHERE usename = '\(Self.role)'")
        let start = surroundings.now
        Foundation.kill(postmaster, SIGSTOP)
        for row in rows { if let backend = row.first.flatMap({ Int32($0) }) { Foundation.kill(backend, SIGTERM) } }
        rest(seconds)
        Foundation.kill(postmaster, SIGCONT)
        return refusals(since: start)
    }

    /// A stand-in for a full disk, since no small file system can be mounted for a test: one write in three is told
    /// 53100, as Postgres tells it. The counter is a sequence: what a transaction takes from it is not given back.
    func fillDisk(for seconds: Double) throws -> Int {
        try site.database.sql(
            """
            CREATE SEQUENCE IF NOT EXISTS public.disk_full;
            GRANT ALL ON SEQUENCE public.disk_full TO PUBLIC;
            CREATE OR REPLACE FUNCTION public.refuse_write() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF random() < 0.34 THEN
                    PERFORM nextval('public.disk_full');
                    RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100';
                END IF;
                RETURN NEW;
            END $$;
            CREATE TRIGGER disk_full BEFORE UPDATE ON sallyport.device_sessions
                FOR EACH ROW EXECUTE FUNCTION public.refuse_write();
            """)
        rest(seconds)
        try site.database.sql("DROP TRIGGER disk_full ON sallyport.device_sessions")
        let rows = try site.database.sql("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM public.disk_full")
        return Int(rows.first?.first ?? "") ?? 0
    }

    /// All device sessions as they stand, with the commits that the audit knows to be lost.
    func sessionRows() throws -> [SessionRow] {
        try site.database.sql(
            """
            SELECT s.id, s.generation, coalesce(s.end_reason, ''), (
                SELECT count(*) FROM sallyport.audit_events e
                WHERE e.device_session_id = s.id AND e.event = 'generation_restored')
            FROM sallyport.device_sessions s
            """
        ).compactMap { row in
            guard row.count == 4, let generation = Int64(row[1]), let restorations = Int64(row[3]) else { return nil }
            return SessionRow(
                family: row[0], generation: generation, endReason: row[2].isEmpty ? nil : row[2],
                restorations: restorations)
        }
    }

    private static func list(_ families: [String]) -> String { families.map { "'\($0)'" }.joined(separator: ", ") }
}
