import AuthTesting
import Foundation
import JSON
import Testing

@Suite(
    "Behind nginx, as Examples/nginx.conf has it", .blocking,
    .enabled(if: Nginx.isInstalled, "nginx is not installed: apt-get install nginx-light"))
struct NginxTests {
    /// The addresses of the log's lines, of requests at `/auth/session`.
    private func addresses(_ server: ServerUnderTest) -> [String] {
        server.process.errorLines.compactMap { line in
            guard let object = (try? JSONParser.parse(Array(line.utf8)))?.objectValue,
                object["http.route"] == "/auth/session"
            else { return nil }
            return object["client.address"]?.stringValue
        }
    }

    private static let spoofed = [
        ("X-Forwarded-For", "198.51.100.66"), ("X-Forwarded-For", "10.0.0.1"),
        ("Forwarded", "for=198.51.100.66;host=evil.example"), ("X-Real-IP", "198.51.100.66"),
    ]

    @Test("the client's address is in the log, and what a client says of itself is not", arguments: [false, true])
    func address(appends: Bool) throws {
        let server = try Site().serve(settings: ["SALLYPORT_TRUSTED_PROXIES": "127.0.0.1"])
        let nginx = try Nginx(upstreams: [server.client.port, server.client.port], appends: appends)
        for (source, fields) in [(2, []), (3, Self.spoofed), (2, Self.spoofed)] as [(UInt8, [(String, String)])] {
            #expect(try nginx.client(source: source).send("GET", "/auth/session", fields: fields).status == 401)
        }
        #expect(waitUntil(limit: .seconds(10)) { addresses(server).count == 3 })
        #expect(addresses(server) == ["127.0.0.2", "127.0.0.3", "127.0.0.2"])
        #expect(!server.log.contains("198.51.100.66") && !server.log.contains("SALLYPORT_TRUSTED_PROXIES"))
    }

    @Test("a proxy that is not trusted is the client itself, and is warned of")
    func untrusted() throws {
        let server = try Site().serve(settings: ["SALLYPORT_TRUSTED_PROXIES": "192.0.2.0/24"])
        let nginx = try Nginx(upstreams: [server.client.port, server.client.port])
        for source: UInt8 in [2, 3] { _ = try nginx.client(source: source).send("GET", "/auth/session") }
        #expect(waitUntil(limit: .seconds(10)) { addresses(server).count == 2 })
        #expect(addresses(server) == ["127.0.0.1", "127.0.0.1"])
        #expect(server.process.errorLines.count { $0.contains("SALLYPORT_TRUSTED_PROXIES") } == 1)
    }

    @Test("each client has a rate of its own, which no field of the client changes", arguments: [false, true])
    func rates(appends: Bool) throws {
        let server = try Site().serve(settings: [
            "SALLYPORT_TRUSTED_PROXIES": "127.0.0.1", "SALLYPORT_RATE_LIMIT": "address=5",
        ])
        let nginx = try Nginx(upstreams: [server.client.port, server.client.port], appends: appends)
        let greedy = nginx.client(source: 2)
        var answers: [HTTPAnswer] = []
        for index in 0..<10 {
            answers.append(
                try greedy.send("GET", "/auth/session", fields: [("X-Forwarded-For", "198.51.100.\(index)")]))
        }
        #expect(answers.prefix(5).allSatisfy { $0.status == 401 })
        let refused = try #require(answers.first { $0.status == 429 }, "\(answers.map(\.status))")
        try expectRefusal(refused, 429, "slow_down", "rate_limited", "retry")
        let seconds = try refused.integer("retry_after")
        #expect((1...30).contains(seconds) && refused.field("retry-after") == String(seconds))
        #expect(try nginx.client(source: 3).send("GET", "/auth/session").status == 401)
        #expect(try greedy.send("GET", "/.well-known/jwks.json").status == 200)
    }

    @Test("a refresh whose answer is lost on the way to nginx is sent to the other server, and rotates once")
    func lostAnswer() throws {
        let site = try Site()
        let servers = [try site.serve(), try site.serve()]
        let direct = try AuthClient(servers[1])
        let relay = try AnswerLosingRelay(to: servers[0].client.port)
        for key in [nil, "a-key-of-this-rotation"] {
            let pair = try direct.signedIn(
                site.tables.signIn().signed, installation: "installation-\(key ?? "without-a-key")")
            // A new one: nginx leaves a server that failed alone for a while.
            let nginx = try Nginx(upstreams: [relay.port, servers[1].client.port])
            let lostBefore = relay.answers.count
            let next = try TokenPair(refresh(pair.refresh, key: key, by: nginx))
            #expect(relay.answers.count == lostBefore + 1)
            let lost = try #require(relay.answers.last)
            // The first try had rotated; the second got the same successor, byte for byte.
            #expect(try lost.text("refresh_token") == next.refresh)
            #expect(try next.generation == 2)
            let rows = try site.database.sql(
                "SELECT generation FROM sallyport.device_sessions WHERE id = '\(pair.sid)'")
            #expect(rows == [["2"]])
            #expect(try direct.refreshed(next.refresh).generation == 3)
        }
    }

    @Test("health and metrics are not passed on")
    func health() throws {
        let server = try Site().serve()
        let nginx = try Nginx(upstreams: [server.client.port, server.client.port])
        let client = nginx.client(source: 2)
        for path in ["/livez", "/readyz", "/metrics", "//metrics", "/%6detrics", "/metrics?a=b"] {
            #expect(try client.send("GET", path).status == 404, "\(path)")
        }
        #expect(try client.send("GET", "/auth/session").status == 401)
    }

    @Test("a user who gets 503 all the time marks no server down")
    func oneUsersOutage() throws {
        let site = try Site()
        let servers = [try site.serve(), try site.serve()]
        let session = try site.tables.signIn()
        let unlucky = try AuthClient(servers[0]).signedIn(session.signed)
        var other = try AuthClient(servers[0]).signedIn(site.tables.signIn().signed)
        try site.database.sql(
            "CREATE OR REPLACE FUNCTION sallyport.custom_claims(user_id text, device_id uuid) RETURNS jsonb "
                + "LANGUAGE plpgsql AS $$ BEGIN IF user_id = '\(session.userID)' THEN RAISE EXCEPTION 'no'; END IF; "
                + "RETURN '{}'; END $$")
        let nginx = try Nginx(upstreams: servers.map { try $0.client.port })
        for _ in 0..<20 {
            for _ in 0..<4 {
                let answer = try refresh(unlucky.refresh, key: nil, by: nginx)
                // The server's own answer, and not nginx's.
                try expectUnavailable(answer, among: ["dependency"])
            }
            let next = try refresh(other.refresh, key: nil, by: nginx)
            #expect(next.status == 200)
            other = try TokenPair(next)
        }
        #expect(!nginx.errorText.contains("no live upstreams"))
    }

    @Test("a server that is gone costs a client nothing, and one that is not ready a retry")
    func otherServer() throws {
        let site = try Site()
        let server = try site.serve()
        let pair = try AuthClient(server).signedIn(site.tables.signIn().signed)
        let gone = try Nginx(upstreams: [freePort(), server.client.port])
        let next = try TokenPair(refresh(pair.refresh, key: nil, by: gone))
        #expect(try next.generation == 2)

        let port = try freePort()
        let starting = try site.start(settings: [
            "SALLYPORT_LISTEN": "127.0.0.1:\(port)", "SALLYPORT_DATABASE_URL": "postgresql://x@127.0.0.1:1/x",
        ])
        let early = HTTPClient(port: port)
        #expect(waitUntil(limit: .seconds(20)) { (try? early.send("GET", "/livez"))?.status == 200 })
        let nginx = try Nginx(upstreams: [port, server.client.port])
        let answers = try (0..<2).map { _ in try refresh(next.refresh, key: nil, by: nginx) }.sorted {
            $0.status < $1.status
        }
        #expect(try TokenPair(answers[0]).generation == 3)
        try expectUnavailable(answers[1], among: ["starting"])
        #expect(starting.process.isRunning)
    }

    @Test("the key set is kept, with its fields, and is there while no server is; nothing else is kept")
    func keySet() throws {
        let site = try Site()
        let server = try site.serve()
        let pair = try AuthClient(server).signedIn(site.tables.signIn().signed)
        let nginx = try Nginx(upstreams: [server.client.port, server.client.port])
        let client = nginx.client(source: 2)
        let path = "/.well-known/jwks.json"
        let own = try server.client.send("GET", path)
        let answers = try ["GET", "GET", "HEAD"].map { try client.send($0, path) }
        #expect(answers.map { $0.field("x-cache-status") } == ["MISS", "HIT", "HIT"])
        for answer in answers {
            #expect(answer.status == 200)
            for name in ["etag", "cache-control", "access-control-allow-origin", "content-type"] {
                #expect(answer.field(name) == own.field(name) && own.field(name) != nil, "\(name)")
            }
        }
        #expect(answers[0].body == own.body && answers[1].body == own.body)
        let condition = [("If-None-Match", try #require(own.field("etag")))]
        #expect(try client.send("GET", path, fields: condition).status == 304)

        let bearer = [("Authorization", "Bearer \(pair.access)")]
        #expect(try client.send("GET", "/auth/session", fields: bearer).status == 200)
        try server.stop()
        let kept = try client.send("GET", path)
        #expect(kept.status == 200 && kept.body == own.body)
        #expect(try client.send("GET", "/auth/session", fields: bearer).status == 502)
        #expect(try refresh(pair.refresh, key: nil, by: nginx).status == 502)
    }

    @Test("nginx takes the example as it stands")
    func syntax() throws {
        let pair = try CertificateTests.pair("auth.example.com")
        let check = try Nginx.check(certificate: pair.certificate, key: pair.key)
        #expect(check.status == 0, "\(check.errorText)")
        #expect(!check.errorText.contains("[warn]"), "\(check.errorText)")
    }

    private func refresh(_ token: String, key: String?, by nginx: Nginx) throws -> HTTPAnswer {
        try nginx.client(source: 2).send(
            "POST", "/auth/token",
            fields: [("Content-Type", "application/x-www-form-urlencoded")]
                + (key.map { [("Idempotency-Key", $0)] } ?? []),
            body: Array("grant_type=refresh_token&refresh_token=\(token)".utf8))
    }
}
