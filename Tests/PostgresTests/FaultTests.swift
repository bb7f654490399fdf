import AuthTesting
import Glibc
import Postgres
import Primitives
import Reactor
import Testing

@Suite("Lost and refused connections")
struct FaultTests {
    /// Waits for their end; how many there were.
    private static let terminateOthers = """
        SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid()
        """

    @Test("a terminated backend is not noticed by the next read or write")
    func terminatedIdle() async throws {
        try await withScratch { database, scratch async throws in
            _ = try await database.read(Probe.one)
            _ = try await database.write(Probe.one)
            for _ in 0..<3 {
                #expect(try scratch.value(Self.terminateOthers) != "0")
                #expect(try await database.write(Probe.one)[0].int64("n") == 1)
                #expect(try await database.read(Probe.one)[0].int64("n") == 1)
            }
        }
    }

    @Test("reads on a terminated connection are sent once more")
    func terminatedBusy() async throws {
        try await withScratch { database, scratch async throws in
            _ = try await database.read(Probe.one)
            let pending = (0..<6).map { _ in database.beginRead(Probe.sleep, [.int64(150)]) }
            // The statements have to be on the server when it strikes.
            await database.loop.sleep(for: .milliseconds(50))
            try scratch.value(Self.terminateOthers)
            for read in pending { #expect(try await read.rows().count == 1) }
        }
    }

    @Test("a read that ends its connection each time is given up after the second")
    func deadlyRead() async throws {
        try await withScratch { database, _ async throws in
            let error = await failure { () async throws(DatabaseError) in try await database.read(Probe.dieNow) }
            #expect(error == .unavailable(.dependency))
            #expect(try await database.read(Probe.one).count == 1)
        }
    }

    @Test("a write whose connection is lost under way has an unknown outcome and is not sent again")
    func deadlyWrite() async throws {
        try await withScratch { database, scratch async throws in
            try scratch.value("CREATE SEQUENCE tries")
            let deadly = Statement(
                "deadly", "SELECT nextval('tries') AS n, pg_terminate_backend(pg_backend_pid())::text AS t")
            let error = await failure { () async throws(DatabaseError) in try await database.write(deadly) }
            #expect(error == .unavailable(.outcomeUnknown))
            #expect(try scratch.value("SELECT last_value FROM tries") == "1")
        }
    }

    @Test("a connection that is lost before COMMIT has changed nothing, and says so")
    func lostInTransaction() async throws {
        try await withScratch { database, scratch async throws in
            try scratch.value("CREATE TABLE things (n bigint)")
            let insert = Statement("insert_thing", "INSERT INTO things (n) VALUES ($1)", [.int64])
            let error = await failure { () async throws(DatabaseError) in
                try await database.transaction { transaction throws(DatabaseError) in
                    _ = try await transaction.run(insert, [.int64(1)])
                    return try await transaction.run(Probe.dieNow)
                }
            }
            #expect(error == .unavailable(.dependency))
            #expect(try scratch.value("SELECT count(*) FROM things") == "0")
        }
    }

    @Test("a connection that is lost during COMMIT leaves an unknown outcome")
    func lostInCommit() async throws {
        try await withScratch { database, scratch async throws in
            try scratch.value(
                """
                CREATE TABLE things (n bigint);
                CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS
                    'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';
                CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON things DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION die();
                """)
            let insert = Statement("insert_thing", "INSERT INTO things (n) VALUES ($1)", [.int64])
            var isInserted = false
            let error = await failure { () async throws(DatabaseError) in
                try await database.transaction { transaction throws(DatabaseError) in
                    isInserted = try await transaction.run(insert, [.int64(1)]).affected == 1
                }
            }
            #expect(isInserted)
            #expect(error == .unavailable(.outcomeUnknown))
            // The insert of a single statement is answered before its implicit commit, which is not to be believed.
            let write = await failure { () async throws(DatabaseError) in
                try await database.write(insert, [.int64(1)])
            }
            #expect(write == .unavailable(.outcomeUnknown))
        }
    }

    @Test("a write that a demoted host refuses is sent to the one that takes writes now")
    func failover() async throws {
        let old = try ScratchCluster.own()
        let new = try ScratchCluster.shared
        let serverPort = Statement("server_port", "SELECT inet_server_port() AS n")
        let permanent = Statement("permanent", "COMMENT ON DATABASE postgres IS 'written'")
        let url = Secret("postgres://postgres@127.0.0.1:\(old.port),127.0.0.1:\(new.port)/postgres")
        try await withDatabase(url) { database async throws in
            #expect(try await database.write(serverPort)[0].int64("n") == Int64(old.port))
            try old.value("ALTER SYSTEM SET default_transaction_read_only = on; SELECT pg_reload_conf()")
            await database.loop.sleep(for: .milliseconds(200))
            _ = try await database.write(permanent)
            #expect(try await database.write(serverPort)[0].int64("n") == Int64(new.port))
        }
    }

    @Test("a stopped server makes reads and writes unavailable in time, and its return is noticed within 2 s")
    func restart() async throws {
        let server = try ScratchCluster.own()
        try await withDatabase(server.url()) { database async throws in
            for signal in [SIGINT, SIGQUIT] {
                #expect(try await database.read(Probe.one).count == 1)
                #expect(try await database.write(Probe.one).count == 1)
                try server.end(signal)

                let start = ContinuousClock.now
                async let write = failure { () async throws(DatabaseError) in try await database.write(Probe.one) }
                let read = await failure { () async throws(DatabaseError) in try await database.read(Probe.one) }
                let errors = [read, await write, await database.ping()]
                #expect(errors == Array(repeating: .unavailable(.dependency), count: 3))
                #expect(ContinuousClock.now - start < .seconds(3))
                // Long enough for the pause between attempts to be at its longest.
                await database.loop.sleep(for: .milliseconds(1_500))

                try server.start()
                let back = ContinuousClock.now
                while await failure({ () async throws(DatabaseError) in try await database.read(Probe.one) }) != nil {
                    if ContinuousClock.now - back > .seconds(5) { break }
                }
                #expect(try await database.write(Probe.one).count == 1)
                #expect(ContinuousClock.now - back < .seconds(2))
            }
        }
    }

    @Test("a host that stops taking writes is given up, and taken again when it does")
    func demoted() async throws {
        let server = try ScratchCluster.own()
        try await withDatabase(server.url()) { database async throws in
            #expect(await database.ping() == nil)
            try server.value("CREATE TABLE things (n bigint)")
            let insert = Statement("insert_thing", "INSERT INTO things (n) VALUES ($1)", [.int64])
            _ = try await database.write(insert, [.int64(1)])
            try server.value("ALTER SYSTEM SET default_transaction_read_only = on")
            try server.value("SELECT pg_reload_conf()")
            await database.loop.sleep(for: .milliseconds(200))

            let write = await failure { () async throws(DatabaseError) in try await database.write(insert, [.int64(2)])
            }
            #expect(write == .unavailable(.readOnly))
            #expect(await database.ping() == .unavailable(.readOnly))

            try server.value("ALTER SYSTEM RESET default_transaction_read_only")
            try server.value("SELECT pg_reload_conf()")
            let back = ContinuousClock.now
            while await database.ping() != nil, ContinuousClock.now - back < .seconds(5) {}
            _ = try await database.write(insert, [.int64(3)])
            #expect(ContinuousClock.now - back < .seconds(2))
            #expect(try server.value("SELECT string_agg(n::text, ',' ORDER BY n) FROM things") == "1,3")
        }
    }

    @Test("of several hosts the one that answers and takes writes is used")
    func severalHosts() async throws {
        let standby = try ScratchCluster.own()
        try standby.sql("ALTER SYSTEM SET default_transaction_read_only = on; SELECT pg_reload_conf()")
        let port = try ScratchCluster.shared.port
        let url = Secret("postgres://postgres@127.0.0.1:1,127.0.0.1:\(standby.port),localhost:\(port)/postgres")
        let serverPort = Statement("server_port", "SELECT inet_server_port() AS n")
        try await withDatabase(url) { database async throws in
            #expect(try await database.read(serverPort)[0].int64("n") == Int64(port))
            #expect(try await database.write(serverPort)[0].int64("n") == Int64(port))
        }
        try await withDatabase(standby.url()) { database async throws in
            #expect(await database.ping() == .unavailable(.readOnly))
        }
    }

    @Test("a unix socket works as well")
    func unixSocket() async throws {
        let cluster = try ScratchCluster.shared
        let folder = try cluster.value("SHOW unix_socket_directories")
        let url = Secret("postgresql:///postgres?host=\(folder)&port=\(cluster.port)&user=postgres")
        try await withDatabase(url) { database async throws in
            #expect(try await database.read(Probe.one).count == 1)
            #expect(try await database.write(Probe.one).count == 1)
        }
    }

    @Test(
        "a wrong database or role is refused at once as misconfigured",
        arguments: ["postgres://postgres@127.0.0.1:PORT/no_such_database", "postgres://nobody@127.0.0.1:PORT/postgres"])
    func misconfigured(url: String) async throws {
        let url = url.split(separator: "PORT").joined(separator: String(try ScratchCluster.shared.port))
        try await withDatabase(Secret(url)) { database async throws in
            let start = ContinuousClock.now
            #expect(await database.ping() == .unavailable(.misconfigured))
            let write = await failure { () async throws(DatabaseError) in try await database.write(Probe.one) }
            #expect(write == .unavailable(.misconfigured))
            #expect(ContinuousClock.now - start < .milliseconds(900))
        }
    }

    @Test("a host that never answers costs no more than the wait for a connection")
    func silentHost() async throws {
        let loop = try EventLoop(name: "silent")
        loop.start()
        // Accepts nothing: connections stay in the queue of the kernel, and the greeting is never answered.
        let listener = try #require(
            await loop.run { SocketAddress("127.0.0.1:0").flatMap { try? Listener($0, on: loop) } })
        let url = Secret("postgres://postgres@127.0.0.1:\(listener.address.port)/postgres")
        try await withDatabase(url) { database async throws in
            let start = ContinuousClock.now
            #expect(await database.ping() == .unavailable(.busy))
            #expect(ContinuousClock.now - start < .seconds(2))
        }
        await loop.run { listener.close() }
        loop.stop()
        loop.join()
    }

    @Test("the sessions have the limits of the configuration")
    func sessionSettings() async throws {
        let settings = Statement(
            "settings",
            """
            SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
                current_setting('idle_in_transaction_session_timeout') AS idle,
                current_setting('application_name') AS name
            """)
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            for row in [try await database.read(settings)[0], try await database.write(settings)[0]] {
                let values = [
                    try row.text("statement"), try row.text("lock"), try row.text("idle"), try row.text("name"),
                ]
                #expect(values == ["2500ms", "1s", "10s", "sallyport-tests"])
            }
        }
    }
}
