import AuthTesting
import Postgres
import Primitives
import Reactor
import Testing

@Suite("Pipelined reads")
struct ReadTests {
    @Test("many reads of one turn each get their own rows")
    func batch() async throws {
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            let pending = (0..<500).map { database.beginRead(Probe.echo, [.int64($0)]) }
            for (index, read) in pending.enumerated() {
                let number = try await read.rows()[0].int64("n")
                #expect(number == Int64(index))
            }
        }
    }

    @Test("an error in a batch reaches its own read only")
    func errorInBatch() async throws {
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            _ = try await database.read(Probe.one)
            let divisors: [Int64] = [1, 0, 1, 0, 1, 1]
            let pending = divisors.map { database.beginRead(Probe.divide, [.int64($0)]) }
            for (divisor, read) in zip(divisors, pending) {
                let result = await failure { () async throws(DatabaseError) in try await read.rows() }
                #expect(result == (divisor == 0 ? .functionFailed(sqlState: "22012") : nil))
            }
        }
    }

    @Test("a statement that cannot be prepared fails by itself, every time")
    func unpreparable() async throws {
        let missing = Statement("missing", "SELECT x FROM no_such_table")
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            for _ in 0..<2 {
                let bad = [database.beginRead(missing), database.beginRead(missing)]
                let good = database.beginRead(Probe.echo, [.int64(5)])
                for read in bad {
                    let error = await failure { () async throws(DatabaseError) in try await read.rows() }
                    #expect(error == .unavailable(.misconfigured))
                }
                let number = try await good.rows()[0].int64("n")
                #expect(number == 5)
            }
        }
    }

    @Test("a statement whose columns have changed is prepared anew and answers")
    func cachedPlan() async throws {
        let all = Statement("all", SQL(unsafeText: "SELECT * FROM changing"))
        try await withScratch { database, scratch async throws in
            try scratch.value("CREATE TABLE changing (a bigint); INSERT INTO changing VALUES (1)")
            for _ in 0..<4 { #expect(try await database.read(all)[0].int64("a") == 1) }
            try scratch.value("ALTER TABLE changing ADD COLUMN b bigint DEFAULT 2")
            let pending = (0..<8).map { _ in database.beginRead(all) }
            for read in pending { #expect(try await read.rows()[0].int64("b") == 2) }
            try scratch.value("ALTER TABLE changing ALTER COLUMN b TYPE text")
            #expect(try await database.read(all)[0].text("b") == "2")
        }
    }

    @Test("a preparation that the server has forgotten is made again")
    func deallocated() async throws {
        let forgetAll = Statement("forget_all", "DEALLOCATE ALL")
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            for _ in 0..<4 { _ = try await database.read(Probe.one) }
            let forget = (0..<2).map { _ in database.beginRead(forgetAll) }
            for read in forget { _ = try await read.rows() }
            for _ in 0..<4 { #expect(try await database.read(Probe.one)[0].int64("n") == 1) }
            for _ in 0..<4 { #expect(try await database.write(Probe.one)[0].int64("n") == 1) }
            _ = try await database.write(forgetAll)
            #expect(try await database.write(Probe.one)[0].int64("n") == 1)
        }
    }

    @Test("answers larger than a socket's buffer arrive whole, and so do large parameters")
    func large() async throws {
        let measure = Statement("measure", "SELECT $1::bytea AS y, length($1::bytea)::bigint AS n", [.bytes])
        let bytes = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0) }
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            let pending = (0..<4).map { _ in database.beginRead(measure, [.bytes(bytes)]) }
            for read in pending {
                let row = try await read.rows()[0]
                #expect(try row.int64("n") == 1_000_000)
                #expect(try row.bytes("y") == bytes)
            }
        }
    }

    @Test("a statement over its server-side time ends as busy, and the connection lives on")
    func statementTimeout() async throws {
        try await withDatabase(ScratchCluster.shared.url(), configure: { $0.statementTimeout = .milliseconds(100) }) {
            database async throws in
            _ = try await database.read(Probe.one)
            let slow = database.beginRead(Probe.sleep, [.int64(5_000)])
            let behind = database.beginRead(Probe.echo, [.int64(3)])
            let error = await failure { () async throws(DatabaseError) in try await slow.rows() }
            #expect(error == .unavailable(.busy))
            #expect(try await behind.rows()[0].int64("n") == 3)
        }
    }

    @Test("a read over its deadline ends as busy, and the next one works")
    func deadline() async throws {
        try await withDatabase(ScratchCluster.shared.url(), configure: { $0.queryDeadline = .milliseconds(300) }) {
            database async throws in
            _ = try await database.read(Probe.one)
            let start = ContinuousClock.now
            let error = await failure { () async throws(DatabaseError) in
                try await database.read(Probe.sleep, [.int64(2_000)])
            }
            let duration = ContinuousClock.now - start
            #expect(error == .unavailable(.busy))
            #expect(duration >= .milliseconds(290))
            #expect(duration < .milliseconds(1_500))
            #expect(try await database.read(Probe.one).count == 1)
        }
    }

    @Test("a closed database refuses at once")
    func closed() async throws {
        try await withDatabase(ScratchCluster.shared.url()) { database async throws in
            let last = database.beginRead(Probe.one)
            _ = try await last.rows()
            let inFlight = database.beginRead(Probe.sleep, [.int64(100)])
            await database.close()
            #expect(try await inFlight.rows().count == 1)
            let read = await failure { () async throws(DatabaseError) in try await database.read(Probe.one) }
            let write = await failure { () async throws(DatabaseError) in try await database.write(Probe.one) }
            #expect(read == .unavailable(.closed))
            #expect(write == .unavailable(.closed))
        }
    }
}
