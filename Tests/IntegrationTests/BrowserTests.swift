import AuthTesting
import Testing

@Suite("Pages of other origins, by a real server", .blocking)
struct BrowserTests {
    private static let app = "https://app.example.com"

    @Test("the settings choose who may read, from the first answer on")
    func origins() throws {
        let site = try Site(settings: ["SALLYPORT_TRUSTED_ORIGINS": "\(Self.app), myapp://"])
        let server = try site.serve()
        let client = try server.client
        let asking = [("Origin", Self.app), ("Access-Control-Request-Method", "POST")]
        let preflight = try client.send("OPTIONS", "/auth/token", fields: asking)
        #expect(preflight.status == 204 && preflight.field("access-control-allow-origin") == Self.app)
        for (origin, allowed) in [(Self.app, Self.app), ("https://evil.example", nil), ("null", nil)] {
            let refusal = try client.send("GET", "/auth/session", fields: [("Origin", origin)])
            #expect(refusal.status == 401 && refusal.field("access-control-allow-origin") == allowed)
            #expect(try client.send("GET", "/.well-known/jwks.json").field("access-control-allow-origin") == "*")
        }

        let port = try freePort()
        let starting = try site.start(settings: [
            "SALLYPORT_LISTEN": "127.0.0.1:\(port)", "SALLYPORT_DATABASE_URL": "postgresql://x@127.0.0.1:1/x",
        ])
        let early = HTTPClient(port: port)
        #expect(waitUntil(limit: .seconds(20)) { (try? early.send("GET", "/livez"))?.status == 200 })
        let answer = try early.send("GET", "/auth/session", fields: [("Origin", Self.app)])
        #expect(answer.status == 503 && answer.field("access-control-allow-origin") == Self.app)
        #expect(try early.send("OPTIONS", "/auth/token", fields: asking).status == 204)
        #expect(starting.process.isRunning && server.process.isRunning)
    }

    @Test("a device session and an address have the rates of the setting, one for all event loops")
    func rates() throws {
        let site = try Site(settings: ["SALLYPORT_RATE_LIMIT": "address=40,session=3", "SALLYPORT_WORKERS": "4"])
        let client = try AuthClient(site.serve())
        let pair = try client.signedIn(site.tables.signIn().signed)
        var newest = pair.refresh
        for _ in 0..<3 { newest = try client.refreshed(newest).refresh }
        try expectRefusal(client.refresh(newest), 429, "slow_down", "rate_limited", "retry")
        // One connection each: they come to rest on every loop.
        let statuses = try (0..<60).map { _ in try client.get("/auth/session").status }
        #expect((30...40).contains(statuses.count { $0 == 401 }), "\(statuses)")
        #expect(statuses.count { $0 == 429 } >= 20)
        #expect(try client.get("/readyz").status == 200)
        let metrics = try client.get("/metrics").text
        #expect(metrics.contains("sallyport_turned_away_total{cause=\"session_rate\"} 1"))
        #expect(metrics.contains("sallyport_turned_away_total{cause=\"address_rate\"}"))
    }

    @Test("64 refreshes at once and some hundred requests from one address pass the defaults")
    func crew() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let pair = try client.signedIn(site.tables.signIn().signed)
        let refreshed = try HTTPClient.together(64) { _ in try client.refresh(pair.refresh).status }
        #expect(refreshed.allSatisfy { $0 == 200 })
        let asked = try HTTPClient.together(16) { _ in
            try (0..<30).map { _ in try client.get("/auth/devices", bearer: pair.access).status }
        }
        #expect(asked.joined().allSatisfy { $0 == 200 })
    }
}
