import AuthTesting
import Primitives
import Reactor
import Testing

@testable import Postgres

@Suite("Migrations")
struct MigrationTests {
    private static let first = Migration(
        name: "0001_create_things.sql",
        sql: Array("CREATE TABLE sallyport.things (n bigint); INSERT INTO sallyport.things VALUES (1);\n-- end\n".utf8))
    private static let second = Migration(
        name: "0002_add_name.sql", sql: Array("ALTER TABLE sallyport.things ADD COLUMN name text;".utf8))
    private static let clock = FixedClock()

    private func failure(_ body: () async throws(MigrationError) -> some Any) async -> MigrationError? {
        do {
            _ = try await body()
            return nil
        } catch {
            return error
        }
    }

    @Test("what is pending is applied once, in order, with the time of the clock")
    func apply() async throws {
        try await withScratch { database, scratch async throws in
            let runner = MigrationRunner(migrations: [Self.first, Self.second])
            let pending = await failure { () async throws(MigrationError) in try await runner.verify(on: database) }
            #expect(pending == .pending(names: [Self.first.name, Self.second.name]))
            #expect(try await runner.status(on: database).allSatisfy { $0.state == .pending })

            #expect(
                try await MigrationRunner(migrations: [Self.first]).apply(on: database, clock: Self.clock).count == 1)
            #expect(try await runner.apply(on: database, clock: Self.clock) == [Self.second.name])
            #expect(try await runner.apply(on: database, clock: Self.clock) == [])
            #expect(try await runner.verify(on: database) == [])
            let state = MigrationState.applied(at: Self.clock.now())
            #expect(
                try await runner.status(on: database) == [
                    MigrationStatus(name: Self.first.name, state: state),
                    MigrationStatus(name: Self.second.name, state: state),
                ])
            #expect(try scratch.value("SELECT n FROM sallyport.things WHERE name IS NULL") == "1")
        }
    }

    @Test("two runs at once apply everything once")
    func concurrent() async throws {
        let slow = Migration(
            name: "0003_slow.sql",
            sql: Array("SELECT pg_sleep(0.3); INSERT INTO sallyport.things (n) VALUES (3);".utf8))
        try await withScratch { database, scratch async throws in
            let runner = MigrationRunner(migrations: [Self.first, Self.second, slow])
            async let one = runner.apply(on: database, clock: Self.clock)
            async let two = runner.apply(on: database, clock: Self.clock)
            let applied = try await [one, two]
            #expect(applied.map(\.count).sorted() == [0, 3])
            #expect(try scratch.value("SELECT count(*) FROM sallyport.things") == "2")
            let locks =
                "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database "
                + "WHERE locktype = 'advisory' AND datname = current_database()"
            #expect(try scratch.value(locks) == "0")
        }
    }

    @Test("a run waits for its turn beyond the time that a statement has")
    func patience() async throws {
        try await withScratch(configure: {
            $0.statementTimeout = .milliseconds(100)
            $0.lockTimeout = .milliseconds(100)
            $0.queryDeadline = .milliseconds(200)
        }) { database, scratch async throws in
            let slow = Migration(name: "0001_slow.sql", sql: Array("SELECT pg_sleep(0.5)".utf8))
            let runner = MigrationRunner(migrations: [slow])
            async let one = runner.apply(on: database, clock: Self.clock)
            async let two = runner.apply(on: database, clock: Self.clock)
            let applied = try await [one, two]
            #expect(applied.map(\.count).sorted() == [0, 1])
        }
    }

    @Test("a text that has changed since is refused by name")
    func changed() async throws {
        try await withScratch { database, _ async throws in
            _ = try await MigrationRunner(migrations: [Self.first]).apply(on: database, clock: Self.clock)
            let other = Migration(name: Self.first.name, sql: Array("SELECT 1".utf8))
            let runner = MigrationRunner(migrations: [other, Self.second])
            let apply = await failure { () async throws(MigrationError) in
                try await runner.apply(on: database, clock: Self.clock)
            }
            let verify = await failure { () async throws(MigrationError) in try await runner.verify(on: database) }
            #expect(apply == .changed(name: Self.first.name))
            #expect(verify == .changed(name: Self.first.name))
            #expect(apply?.description.contains(Self.first.name) == true)
            #expect(try await runner.status(on: database).map(\.state) == [.changed, .pending])
        }
    }

    @Test(
        "a text that was rewritten under its first checksum is the same migration, for this binary and for older ones")
    func rewritten() async throws {
        let text = "CREATE TABLE sallyport.things (n bigint); -- end"
        let rewritten = Migration(
            name: Self.first.name, sql: Array(text.utf8), firstPublishedAs: Hex.encode(Self.first.checksum))
        let anew = Migration(name: Self.first.name, sql: Array(text.utf8))
        let texts = [Self.first, rewritten, anew]
        // Who has applied it, and who comes to find it.
        for (applied, found, isSame) in [
            (0, 1, true), (1, 0, true), (2, 1, true), (1, 1, true), (0, 2, false), (1, 2, false),
        ] {
            try await withScratch { database, _ async throws in
                _ = try await MigrationRunner(migrations: [texts[applied]]).apply(on: database, clock: Self.clock)
                let later = MigrationRunner(migrations: [texts[found]])
                let refusal = await failure { () async throws(MigrationError) in try await later.verify(on: database) }
                #expect(refusal == (isSame ? nil : .changed(name: Self.first.name)), "\(applied) \(found)")
            }
        }
    }

    @Test("a database that is ahead is left alone by apply and tolerated by verify")
    func newer() async throws {
        try await withScratch { database, _ async throws in
            _ = try await MigrationRunner(migrations: [Self.first, Self.second]).apply(on: database, clock: Self.clock)
            let older = MigrationRunner(migrations: [Self.first])
            let apply = await failure { () async throws(MigrationError) in
                try await older.apply(on: database, clock: Self.clock)
            }
            #expect(apply == .databaseIsNewer(unknown: [Self.second.name]))
            #expect(try await older.verify(on: database) == [Self.second.name])
            #expect(try await older.status(on: database).last?.state == .unknown)
        }
    }

    @Test("a migration that comes before an applied one is refused")
    func outOfOrder() async throws {
        try await withScratch { database, _ async throws in
            _ = try await MigrationRunner(migrations: [Self.first]).apply(on: database, clock: Self.clock)
            let early = Migration(name: "0000_early.sql", sql: Array("SELECT 1".utf8))
            let error = await failure { () async throws(MigrationError) in
                try await MigrationRunner(migrations: [early, Self.first]).apply(on: database, clock: Self.clock)
            }
            #expect(error == .outOfOrder(name: early.name))
        }
    }

    @Test("a script that fails leaves nothing behind, and those before it stay")
    func failed() async throws {
        let broken = Migration(
            name: "0002_broken.sql",
            sql: Array("CREATE TABLE sallyport.more (n bigint); SELECT no_such_column FROM sallyport.things".utf8))
        try await withScratch { database, scratch async throws in
            let runner = MigrationRunner(migrations: [Self.first, broken])
            let error = await failure { () async throws(MigrationError) in
                try await runner.apply(on: database, clock: Self.clock)
            }
            #expect(error == .failed(name: broken.name, sqlState: "42703"))
            #expect(try await runner.status(on: database).last?.state == .pending)
            #expect(try scratch.value("SELECT to_regclass('sallyport.more') IS NULL") == "t")
            let fixed = MigrationRunner(migrations: [Self.first, Self.second])
            #expect(try await fixed.apply(on: database, clock: Self.clock) == [Self.second.name])
        }
    }

    @Test("an unreachable database is unavailable to every command")
    func unreachable() async throws {
        let url = Secret("postgres://postgres@127.0.0.1:1/postgres")
        try await withDatabase(url, configure: { $0.poolWait = .milliseconds(100) }) { database async throws in
            let runner = MigrationRunner(migrations: [Self.first])
            let errors = [
                await failure { () async throws(MigrationError) in
                    try await runner.apply(on: database, clock: Self.clock)
                },
                await failure { () async throws(MigrationError) in try await runner.status(on: database) },
                await failure { () async throws(MigrationError) in try await runner.verify(on: database) },
            ]
            #expect(errors.allSatisfy { $0 == .unavailable(.unavailable(.dependency)) })
        }
    }
}
