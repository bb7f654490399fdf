import AuthTesting
import Glibc
import Postgres
import Primitives
import Reactor
import Testing

@Suite("Streaming standby")
struct StandbyTests {
    @Test("a primary dies, its standby is promoted, and writes go on there with what was committed")
    func promotion() async throws {
        let primary = try ScratchCluster.own()
        let standby = try ScratchStandby(of: primary)
        try primary.sql("CREATE TABLE counts (n bigint NOT NULL)")
        let insert = Statement("insert_count", "INSERT INTO counts (n) VALUES ($1)", [.int64])
        let sum = Statement("sum", "SELECT count(*) AS n FROM counts")
        let url = Secret("postgres://postgres@127.0.0.1:\(primary.port),127.0.0.1:\(standby.port)/postgres")
        try await withDatabase(url) { database async throws in
            _ = try await database.write(insert, [.int64(1)])
            #expect(try await database.read(sum)[0].int64("n") == 1)
            while try !standby.hasCaughtUp(with: primary) { usleep(20_000) }

            try primary.end(SIGQUIT)
            let lost = await failure { () async throws(DatabaseError) in
                try await database.write(insert, [.int64(2)])
            }
            // The standby answers, but takes no writes: that is no reason to write nowhere and say nothing.
            guard case .unavailable = lost else { throw Unexpected(error: lost) }
            try standby.promote()

            let promoted = ContinuousClock.now
            while await failure({ () async throws(DatabaseError) in try await database.write(insert, [.int64(3)]) })
                != nil
            {
                if ContinuousClock.now - promoted > .seconds(10) { break }
            }
            #expect(ContinuousClock.now - promoted < .seconds(3))
            #expect(try await database.read(sum)[0].int64("n") == 2)
        }
    }

    private struct Unexpected: Error {
        let error: DatabaseError?
    }
}
