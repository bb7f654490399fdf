import AuthTesting
import Glibc
import Postgres
import Primitives
import Reactor
import Testing

@Suite("Listening")
struct ListenTests {
    /// Counts on the loop; waits for a count without blocking it.
    private final class News: Sendable {
        private let count = Locked(0)

        func add() { count.withLock { $0 += 1 } }

        /// The count once it is `least`, or what it is after twenty seconds.
        func settled(_ least: Int, on loop: EventLoop) async -> Int {
            let end = ContinuousClock.now + .seconds(20)
            while count.withLock({ $0 }) < least, ContinuousClock.now < end { await loop.sleep(for: .milliseconds(5)) }
            return count.withLock { $0 }
        }

        var now: Int { count.withLock { $0 } }
    }

    private static let listeners =
        "SELECT count(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN %'"

    @Test("news comes when it begins, with each committed notification of its channel, and with no other")
    func notifications() async throws {
        try await withScratch { database, scratch async throws in
            let news = News()
            database.listen(["LISTEN probe"]) { news.add() }
            #expect(await news.settled(1, on: database.loop) == 1)
            try scratch.sql("NOTIFY probe")
            #expect(await news.settled(2, on: database.loop) == 2)
            try scratch.sql("NOTIFY other; BEGIN; NOTIFY probe; ROLLBACK; NOTIFY probe, 'last'")
            #expect(await news.settled(3, on: database.loop) == 3)
            // From our own pool as well, where every statement is prepared and pipelined.
            _ = try await database.write(Statement("notify_probe", "SELECT pg_notify('probe', 'a')"))
            #expect(await news.settled(4, on: database.loop) == 4)
        }
    }

    @Test("a lost connection is opened again and tells that something may have been missed")
    func lost() async throws {
        try await withScratch { database, scratch async throws in
            let news = News()
            database.listen(["LISTEN probe"]) { news.add() }
            for round in 1...3 {
                #expect(await news.settled(round, on: database.loop) == round)
                try scratch.sql(
                    "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                        + "WHERE datname = current_database() AND query LIKE 'LISTEN %'")
            }
            #expect(await news.settled(4, on: database.loop) == 4)
            #expect(try scratch.value(Self.listeners) == "1")
        }
    }

    @Test("while the server is away it goes on trying, and hears again once it is back")
    func outage() async throws {
        let cluster = try ScratchCluster.own()
        try await withDatabase(cluster.url()) { database in
            let news = News()
            database.listen(["LISTEN probe"]) { news.add() }
            #expect(await news.settled(1, on: database.loop) == 1)
            try cluster.end(SIGQUIT)
            await database.loop.sleep(for: .milliseconds(600))
            #expect(news.now == 1)
            try cluster.start()
            #expect(await news.settled(2, on: database.loop) == 2)
            try cluster.sql("NOTIFY probe")
            #expect(await news.settled(3, on: database.loop) == 3)
        }
    }

    @Test("closing the database ends it: nothing listens, and nothing is heard")
    func closed() async throws {
        try await withScratch { database, scratch async throws in
            let news = News()
            database.listen(["LISTEN probe"]) { news.add() }
            #expect(await news.settled(1, on: database.loop) == 1)
            await database.close()
            #expect(waitUntil(limit: .seconds(10)) { (try? scratch.value(Self.listeners)) == "0" })
            try scratch.sql("NOTIFY probe")
            await database.loop.sleep(for: .milliseconds(200))
            #expect(news.now == 1)
        }
    }
}
