import AuthTesting
import HTTP
import JSON
import Primitives
import Testing

@testable import AuthAPI

@Suite("Admission")
struct AdmissionTests {
    private static let forwarded = "X-Forwarded-For: 198.51.100.66, 203.0.113.7"

    private func address(in line: String?) throws -> String {
        let line = try #require(line)
        return try #require(try JSONParser.parse(Array(line.utf8)).objectValue).text("client.address")
    }

    @Test("of requests that went well one in so many has a log line, of refusals each")
    func sampled() async throws {
        let world = World(accessLogEvery: 3)
        for _ in 0..<7 { _ = try await world.send("GET", "/livez") }
        #expect(world.log.lines.count == 3)
        for _ in 0..<4 { _ = try await world.send("GET", "/auth/session") }
        #expect(world.log.lines.count == 7)
        #expect(world.log.lines.suffix(4).allSatisfy { $0.contains("token_missing") })
    }

    @Test("the log has the peer's address, and behind a trusted proxy the client's, never what the client wrote")
    func loggedAddress() async throws {
        let open = World()
        _ = try await open.send("GET", "/auth/session", [Self.forwarded])
        #expect(try address(in: open.log.lines.last) == "192.0.2.1")
        let behind = World(proxies: ["192.0.2.0/24"])
        _ = try await behind.send("GET", "/auth/session", [Self.forwarded])
        #expect(try address(in: behind.log.lines.last) == "203.0.113.7")
        _ = try await behind.send("GET", "/auth/session", [Self.forwarded], peer: "192.0.3.1")
        #expect(try address(in: behind.log.lines.last) == "192.0.3.1")
        let large = String(repeating: "x", count: 70_000)
        #expect(try await behind.send("POST", "/auth/token", [Self.forwarded], body: large).status == 413)
        #expect(try address(in: behind.log.lines.last) == "203.0.113.7")
    }

    @Test("a proxy that nobody named is warned of once")
    func warning() async throws {
        let world = World(proxies: ["10.0.0.0/8"])
        _ = try await world.send("GET", "/livez")
        _ = try await world.send("GET", "/livez", ["Forwarded: for=203.0.113.7"], peer: "10.0.0.1")
        #expect(!world.log.lines.contains { $0.contains("SALLYPORT_TRUSTED_PROXIES") })
        for _ in 0..<3 { _ = try await world.send("GET", "/livez", ["Forwarded: for=203.0.113.7"]) }
        #expect(world.log.lines.count { $0.contains("SALLYPORT_TRUSTED_PROXIES") } == 1)
    }

    @Test("a host or a scheme that a proxy claims changes nothing", arguments: ["192.0.2.0/24", "10.0.0.0/8"])
    func noLinks(trusted: String) async throws {
        let world = World(proxies: [trusted])
        let claims = [
            "X-Forwarded-Host: evil.example", "X-Forwarded-Proto: gopher",
            "Forwarded: for=203.0.113.7;host=evil.example;proto=gopher",
        ]
        let plain = try await world.send("GET", "/auth/session")
        let claimed = try await world.send("GET", "/auth/session", claims)
        #expect(plain.field("www-authenticate") == claimed.field("www-authenticate"))
        let signedIn = try await world.exchange(world.session(), device: World.device() + claims)
        #expect(!signedIn.text.contains("evil") && signedIn.status == 200)
    }

    @Test("an address that asks too often gets 429 in the one shape, for a while, and others do not")
    func addressLimit() async throws {
        let world = World(rates: RateLimits(address: RateLimit(perMinute: 60), session: nil))
        for _ in 0..<60 { #expect(try await world.send("GET", "/auth/session").status == 401) }
        let refused = try await world.send("GET", "/auth/session")
        try refused.isRefusal(429, "slow_down", "rate_limited", "retry")
        #expect(try await world.send("GET", "/auth/nothing").status == 429)
        #expect(try await world.send("GET", "/nothing").status == 429)
        #expect(try await world.send("GET", "/auth/session", peer: "192.0.2.2").status == 401)
        world.elapsed.withLock { $0 += .seconds(1) }
        #expect(try await world.send("GET", "/auth/session").status == 401)
        #expect(try await world.send("GET", "/auth/session").status == 429)
        let text = try await world.send("GET", "/metrics").text
        #expect(text.contains("sallyport_turned_away_total{cause=\"address_rate\"} 4"))
        #expect(text.contains("sallyport_refusals_total{reason=\"rate_limited\"} 4"))
    }

    @Test("Retry-After is not before the wait is over, spread, and never long")
    func retryAfter() async throws {
        let world = World(rates: RateLimits(address: RateLimit(perMinute: 6), session: nil))
        for _ in 0..<6 { _ = try await world.send("GET", "/auth/session") }
        var seen: Set<Int64> = []
        for _ in 0..<100 {
            let body = try await world.send("GET", "/auth/session")
                .isRefusal(429, "slow_down", "rate_limited", "retry")
            seen.insert(try body.number("retry_after"))
        }
        #expect(seen == [11, 12, 13, 14, 15])
        let slow = World(rates: RateLimits(address: RateLimit(perMinute: 1), session: nil))
        for _ in 0..<2 { _ = try await slow.send("GET", "/auth/session") }
        #expect(try await slow.send("GET", "/auth/session").field("retry-after") == "30")
    }

    @Test("behind a trusted proxy each client has a bucket, whatever it writes left of its address")
    func limitBehindProxy() async throws {
        let world = World(
            proxies: ["192.0.2.1"], rates: RateLimits(address: RateLimit(perMinute: 3), session: nil))
        func status(_ list: String) async throws -> Int {
            try await world.send("GET", "/auth/session", ["X-Forwarded-For: \(list)"]).status
        }
        for index in 0..<3 { #expect(try await status("198.51.100.\(index), 203.0.113.7") == 401) }
        #expect(try await status("198.51.100.77, 203.0.113.7") == 429)
        for index in 0..<50 { #expect(try await status("203.0.114.\(index)") == 401) }
    }

    @Test("a peer that is no proxy cannot choose its bucket")
    func noChoice() async throws {
        let world = World(rates: RateLimits(address: RateLimit(perMinute: 3), session: nil))
        let statuses = try await (0..<5).asyncMap { index in
            try await world.send("GET", "/auth/session", ["X-Forwarded-For: 203.0.113.\(index)"]).status
        }
        #expect(statuses == [401, 401, 401, 429, 429])
    }

    @Test("a device session that asks too often gets 429 and nothing else happens to it; another one goes on")
    func sessionLimit() async throws {
        let world = World(rates: RateLimits(address: nil, session: RateLimit(perMinute: 4)))
        let one = try await world.signedIn()
        let other = try await world.signedIn("session-2", installation: "installation-0002")
        #expect(try await world.get("/auth/session", bearer: one.access).status == 200)
        var newest = one.refresh
        for _ in 0..<3 { newest = try await world.refresh(newest).ok().text("refresh_token") }
        try await world.refresh(newest).isRefusal(429, "slow_down", "rate_limited", "retry")
        try await world.get("/auth/session", bearer: one.access).isRefusal(429, "slow_down", "rate_limited", "retry")
        #expect(try await world.refresh(other.refresh).status == 200)
        #expect(
            try await world.send("GET", "/metrics").text.contains(
                "sallyport_turned_away_total{cause=\"session_rate\"} 2"))
        world.elapsed.withLock { $0 += .seconds(15) }
        #expect(try await world.refresh(newest).status == 200)
    }

    @Test("a resource server that proves itself is not counted, and who guesses its secret is")
    func resourceServer() async throws {
        let world = World(rates: RateLimits(address: RateLimit(perMinute: 5), session: RateLimit(perMinute: 1)))
        let access = try await world.signedIn().access
        func status(_ secret: String) async throws -> Int {
            let basic = Base64.encode(Array("api:\(secret)".utf8))
            return try await world.send(
                "POST", "/auth/introspect",
                ["Authorization: Basic \(basic)", "Content-Type: application/x-www-form-urlencoded"],
                body: "token=\(access)"
            ).status
        }
        let known = try await (0..<50).asyncMap { _ in try await status(World.resourceServerSecret) }
        #expect(known.allSatisfy { $0 == 200 })
        let guesses = try await (0..<8).asyncMap { index in try await status("guess-\(index)") }
        #expect(guesses == [401, 401, 401, 401, 429, 429, 429, 429])
        #expect(try await status(World.resourceServerSecret) == 200)
    }

    @Test("a token that is not proved uses up no one's bucket")
    func unproved() async throws {
        let world = World(rates: RateLimits(address: nil, session: RateLimit(perMinute: 2)))
        let signedIn = try await world.signedIn()
        for token in [signedIn.refresh, signedIn.access] {
            let forged = token.dropLast(40) + String(repeating: "A", count: 40)
            for _ in 0..<10 {
                #expect(try await world.refresh(String(forged)).status == 400)
                #expect(try await world.get("/auth/session", bearer: String(forged)).status == 401)
            }
        }
        #expect(try await world.refresh(signedIn.refresh).status == 200)
    }

    @Test("beyond what a loop works on, a request is turned away before its token is looked at")
    func overload() async throws {
        let world = World(concurrencyMax: 10)
        let signedIn = try await world.signedIn()
        let reads = world.faults.calls.count
        #expect(try await world.get("/auth/session", bearer: signedIn.access).status == 200)
        #expect(world.faults.calls.count > reads)
        let before = world.faults.calls.count
        for _ in 0..<3 {
            try await world.send(
                "GET", "/auth/session", ["Authorization: Bearer \(signedIn.access)"], concurrency: 11
            ).isRefusal(503, "temporarily_unavailable", "busy", "retry")
        }
        try await world.send("GET", "/auth/nothing", concurrency: 11)
            .isRefusal(503, "temporarily_unavailable", "busy", "retry")
        #expect(world.faults.calls.count == before)
        #expect(try await world.send("GET", "/auth/session", concurrency: 10).status == 401)
        _ = world.api.refuse(.overloaded)
        let text = try await world.send("GET", "/metrics").text
        #expect(text.contains("sallyport_turned_away_total{cause=\"concurrency\"} 4"))
        #expect(text.contains("sallyport_turned_away_total{cause=\"connections\"} 1"))
    }

    @Test(
        "health, metrics and public documents are served to everybody at any time",
        arguments: ["/livez", "/readyz", "/version", "/metrics", "/.well-known/jwks.json"])
    func alwaysServed(path: String) async throws {
        let world = World(
            rates: RateLimits(address: RateLimit(perMinute: 1), session: nil), concurrencyMax: 1)
        for _ in 0..<2 { _ = try await world.send("GET", "/auth/session") }
        for method in ["GET", "HEAD"] {
            for _ in 0..<5 { #expect(try await world.send(method, path, concurrency: 1_000).status == 200) }
        }
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
