import Primitives
import Testing

@testable import AuthAPI

@Suite("Rate limits")
struct RateLimitTests {
    private let time = Locked(Duration.hours(1))

    private func limiter(address: Int? = nil, session: Int? = nil) -> RateLimiter {
        RateLimiter(
            RateLimits(
                address: address.map { RateLimit(perMinute: $0) }, session: session.map { RateLimit(perMinute: $0) })
        ) { [time] in time.withLock { $0 } }
    }

    private func pass(_ duration: Duration) { time.withLock { $0 += duration } }

    /// How many of `count` requests pass.
    private func passing(_ count: Int, _ limiter: RateLimiter, _ address: String) throws -> Int {
        let address = try #require(IPAddress(address))
        return (0..<count).count { _ in limiter.wait(address: address) == nil }
    }

    @Test("a minute's worth passes at once, and then as much as comes in", arguments: [1, 7, 60, 600, 6_000])
    func bucket(perMinute: Int) throws {
        let limiter = limiter(address: perMinute)
        #expect(try passing(perMinute + 50, limiter, "192.0.2.1") == perMinute)
        pass(.seconds(30))
        #expect(try passing(perMinute + 50, limiter, "192.0.2.1") == perMinute / 2)
        pass(.seconds(61))
        #expect(try passing(perMinute + 50, limiter, "192.0.2.1") == perMinute)
        pass(.days(400))
        #expect(try passing(perMinute + 50, limiter, "192.0.2.1") == perMinute)
    }

    @Test("the wait is told, and a request that has to wait costs nothing")
    func wait() throws {
        let limiter = limiter(address: 60)
        let address = try #require(IPAddress("192.0.2.1"))
        #expect(try passing(60, limiter, "192.0.2.1") == 60)
        for _ in 0..<100 { #expect(limiter.wait(address: address) == .seconds(1)) }
        pass(.milliseconds(400))
        #expect(limiter.wait(address: address) == .milliseconds(600))
        pass(.milliseconds(600))
        #expect(limiter.wait(address: address) == nil)
        #expect(limiter.wait(address: address) == .seconds(1))
    }

    @Test("each IPv4 address has a bucket of its own, each /64 of IPv6 one")
    func keys() throws {
        let limiter = limiter(address: 3)
        for address in ["192.0.2.1", "192.0.2.2", "2001:db8::1", "2001:db8:0:1::1"] {
            #expect(try passing(4, limiter, address) == 3)
        }
        for address in ["::ffff:192.0.2.1", "2001:db8::2", "2001:db8::ffff:ffff:ffff:ffff", "2001:db8:0:1:8000::"] {
            #expect(try passing(4, limiter, address) == 0)
        }
        #expect(try passing(4, limiter, "2001:db8:0:2::1") == 3)
    }

    @Test("whoever has a /48 has a wider bucket, and not 65536 of them")
    func block() throws {
        let limiter = limiter(address: 10)
        let passed = try (0..<100).reduce(0) { try $0 + passing(10, limiter, "2001:db8:0:\(String($1, radix: 16))::1") }
        #expect(passed == 160)
        #expect(try passing(1, limiter, "2001:db8:1::1") == 1)
        pass(.seconds(61))
        #expect(try passing(20, limiter, "2001:db8:0:63::1") == 10)
    }

    @Test("device sessions are counted apart from addresses and from each other")
    func sessions() throws {
        let limiter = limiter(address: 2, session: 3)
        #expect((0..<5).count { _ in limiter.wait(sessionID: "one") == nil } == 3)
        #expect((0..<5).count { _ in limiter.wait(sessionID: "two") == nil } == 3)
        #expect(try passing(5, limiter, "192.0.2.1") == 2)
    }

    @Test("what has no limit always passes")
    func off() throws {
        let limiter = limiter()
        #expect(try passing(100_000, limiter, "192.0.2.1") == 100_000)
        #expect((0..<100_000).allSatisfy { _ in limiter.wait(sessionID: "one") == nil })
    }

    @Test("a table keeps what is in use, forgets what is full again, and never grows beyond its two halves")
    func table() {
        var table = BucketTable<Int>(keysMax: 100)
        let second: Int64 = 1_000_000_000
        for key in 0..<10_000 {
            table.set(key, fullAt: 5, now: 0)
            #expect(table.count <= 200)
        }
        #expect(table.fullAt(9_999) == 5)
        #expect(table.fullAt(0) == .min)

        var calm = BucketTable<Int>(keysMax: 100)
        calm.set(1, fullAt: 60 * second, now: 0)
        calm.set(2, fullAt: 119 * second, now: 59 * second)
        calm.set(3, fullAt: 61 * second, now: 60 * second)
        #expect(calm.fullAt(1) == 60 * second && calm.fullAt(2) == 119 * second)
        calm.set(4, fullAt: 121 * second, now: 120 * second)
        #expect(calm.fullAt(1) == .min && calm.fullAt(2) == .min && calm.fullAt(3) == 61 * second)
        #expect(calm.count == 2)
    }

    @Test("64 refreshes at once and some hundred requests a minute from one address pass the default")
    func crew() throws {
        let limiter = limiter(address: 6_000, session: 600)
        for _ in 0..<10 {
            #expect(try passing(64 + 900, limiter, "198.51.100.7") == 964)
            #expect((0..<64).allSatisfy { _ in limiter.wait(sessionID: "one") == nil })
            pass(.seconds(60))
        }
    }
}
