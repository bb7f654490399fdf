import AuthDomain
import AuthTesting
import HTTP
import Primitives
import Testing

@testable import AuthAPI

@Suite("Pages of other origins")
struct CrossOriginTests {
    private static let app = "https://app.example.com"
    private let world = World(origins: [app, "capacitor://localhost"])

    private static func asking(_ origin: String, _ method: String = "POST") -> [String] {
        [
            "Origin: \(origin)", "Access-Control-Request-Method: \(method)",
            "Access-Control-Request-Headers: authorization,content-type,x-device-id",
        ]
    }

    private func isReadable(_ reply: Reply, by origin: String = app, at location: SourceLocation = #_sourceLocation) {
        #expect(reply.response.fields.values(of: "access-control-allow-origin") == [origin], sourceLocation: location)
        #expect(reply.field("access-control-allow-credentials") == "true", sourceLocation: location)
        #expect(reply.response.fields.values(of: "vary") == ["Origin"], sourceLocation: location)
        let exposed = Set((reply.field("access-control-expose-headers") ?? "").split(separator: ", ").map(String.init))
        #expect(
            exposed.isSuperset(of: ["set-auth-jwt", "WWW-Authenticate", "Retry-After", "X-Request-Id"]),
            sourceLocation: location)
    }

    private func hasNothing(_ reply: Reply, at location: SourceLocation = #_sourceLocation) {
        let names = reply.response.fields.map { $0.name.lowercased() }
        #expect(!names.contains { $0.hasPrefix("access-control-") }, "\(names)", sourceLocation: location)
    }

    @Test(
        "a preflight is answered without a token, with the fields that our clients send",
        arguments: [
            "/auth/token", "/auth/session", "/auth/devices", "/auth/devices/some-id", "/auth/sign-out", "/auth/nothing",
        ])
    func preflight(path: String) async throws {
        for origin in [Self.app, "capacitor://localhost"] {
            let reply = try await world.send("OPTIONS", path, Self.asking(origin))
            #expect(reply.status == 204)
            isReadable(reply, by: origin)
            #expect(reply.field("access-control-allow-methods") == "GET, HEAD, POST, PUT, PATCH, DELETE")
            let allowed = Set(
                (reply.field("access-control-allow-headers") ?? "").split(separator: ", ").map(String.init))
            #expect(
                allowed.isSuperset(of: [
                    "Authorization", "Content-Type", "Idempotency-Key", "traceparent", "X-Device-Id",
                    "X-Device-Platform", "X-Device-Name", "X-Device-Model", "X-Device-OS-Version", "X-App-Version",
                    "X-Device-Push-Token", "X-Device-Push-Provider",
                ]))
            #expect(reply.field("access-control-max-age") == "7200")
        }
        #expect(world.faults.calls.isEmpty)
    }

    @Test(
        "an origin that is not on the list, byte by byte, gets no field at all",
        arguments: [
            "https://evil.example", "null", "https://app.example.com.evil.example", "https://app.example.com:443",
            "https://app.example.com/", "HTTPS://app.example.com", "https://APP.example.com", "http://app.example.com",
            "https://app.example.co", "https://xapp.example.com", "*", "",
            "https://app.example.com https://evil.example",
            "https://auth.example.com",
        ])
    func strangers(origin: String) async throws {
        let preflight = try await world.send("OPTIONS", "/auth/token", Self.asking(origin))
        hasNothing(preflight)
        #expect(preflight.status == 405)
        for (method, path) in [("GET", "/auth/session"), ("POST", "/auth/token"), ("GET", "/auth/nothing")] {
            let reply = try await world.send(method, path, ["Origin: \(origin)"])
            hasNothing(reply)
            #expect(reply.field("vary") == "Origin")
        }
    }

    @Test("two Origin fields are no origin")
    func twice() async throws {
        hasNothing(try await world.send("GET", "/auth/session", ["Origin: \(Self.app)", "Origin: \(Self.app)"]))
        hasNothing(
            try await world.send("OPTIONS", "/auth/token", Self.asking(Self.app) + ["Origin: https://evil.example"]))
    }

    @Test("a page can read what it got, and every way of being refused")
    func answers() async throws {
        let origin = ["Origin: \(Self.app)"]
        let signedIn = try await world.signedIn()
        let bearer = ["Authorization: Bearer \(signedIn.access)"]
        let form = ["Content-Type: application/x-www-form-urlencoded"]
        for (status, method, path, fields, body) in [
            (200, "GET", "/auth/session", bearer, nil), (204, "POST", "/auth/sign-out", bearer, nil),
            (401, "GET", "/auth/session", [], nil), (404, "GET", "/auth/nothing", [], nil),
            (405, "DELETE", "/auth/token", [], nil), (415, "POST", "/auth/token", ["Content-Type: text/plain"], "x"),
            (400, "POST", "/auth/token", form, "grant_type=refresh_token"),
        ] as [(Int, String, String, [String], String?)] {
            let reply = try await world.send(method, path, origin + fields, body: body)
            #expect(reply.status == status)
            isReadable(reply)
        }
        let large = String(repeating: "x", count: 70_000)
        let tooLarge = try await world.send("POST", "/auth/token", origin + form, body: large)
        #expect(tooLarge.status == 413)
        isReadable(tooLarge)
        hasNothing(try await world.send("POST", "/auth/token", ["Origin: https://evil.example"] + form, body: large))
        world.faults.failAlways(.dependency)
        let outage = try await world.send(
            "POST", "/auth/token", origin + form, body: "grant_type=refresh_token&refresh_token=\(signedIn.refresh)")
        #expect(outage.status == 503)
        isReadable(outage)
    }

    @Test("429 and the 503 of a full or starting server can be read too")
    func turnedAway() async throws {
        let origin = ["Origin: \(Self.app)"]
        let busy = try await world.send("GET", "/auth/session", origin, concurrency: 1_000_000)
        #expect(busy.status == 503)
        isReadable(busy)
        let limited = World(
            origins: [Self.app], rates: RateLimits(address: RateLimit(perMinute: 1), session: nil))
        _ = try await limited.send("GET", "/auth/session", origin)
        let second = try await limited.send("GET", "/auth/session", origin)
        #expect(second.status == 429)
        isReadable(second)
        // A page that is told to wait may still ask whether it may ask.
        #expect(try await limited.send("OPTIONS", "/auth/session", Self.asking(Self.app)).status == 204)

        let starting = StartingAPI(
            keys: FixedKeyring(nil), origins: CrossOriginPolicy([Self.app]), clock: world.clock, random: SeededRandom())
        let request = HTTPRequest(
            method: .get, target: try #require(RequestTarget("/auth/session")), fields: ["Origin": Self.app])
        let reply = Reply(await starting.respond(to: request))
        #expect(reply.status == 503)
        isReadable(reply)
        var asking = request
        asking.method = .options
        asking.fields.append("Access-Control-Request-Method", "GET")
        #expect(Reply(await starting.respond(to: asking)).status == 204)
    }

    @Test("the public documents are for every page, without credentials, errors included")
    func published() async throws {
        let path = "/.well-known/jwks.json"
        for origin in [Self.app, "https://evil.example", "null"] {
            for (method, target, status) in [("GET", path, 200), ("POST", path, 405), ("GET", "/.well-known/x", 404)] {
                let reply = try await world.send(method, target, ["Origin: \(origin)"])
                #expect(reply.status == status)
                #expect(reply.field("access-control-allow-origin") == "*")
                #expect(reply.response.fields.values(of: "access-control-allow-origin").count <= 1)
                #expect(reply.field("access-control-allow-credentials") == nil && reply.field("vary") == nil)
            }
            let preflight = try await world.send("OPTIONS", path, Self.asking(origin, "GET"))
            #expect(preflight.status == 204)
            #expect(preflight.field("access-control-allow-origin") == "*")
            #expect(preflight.field("access-control-allow-methods") == "GET, HEAD")
        }
        let empty = World(keyring: nil)
        let starting = try await empty.send("GET", path)
        #expect(starting.status == 503)
        #expect(starting.field("access-control-allow-origin") == "*")
    }

    @Test(
        "health and metrics are for no page", arguments: ["/livez", "/readyz", "/version", "/metrics", "/", "/authx"])
    func operations(path: String) async throws {
        hasNothing(try await world.send("GET", path, ["Origin: \(Self.app)"]))
        hasNothing(try await world.send("OPTIONS", path, Self.asking(Self.app, "GET")))
    }

    @Test("OPTIONS that asks for nothing is no preflight")
    func plainOptions() async throws {
        let reply = try await world.send("OPTIONS", "/auth/token", ["Origin: \(Self.app)"])
        #expect(reply.status == 405)
        #expect(reply.field("access-control-allow-methods") == nil)
        isReadable(reply)
        let noOrigin = try await world.send("OPTIONS", "/auth/token", ["Access-Control-Request-Method: POST"])
        #expect(noOrigin.status == 405)
        hasNothing(noOrigin)
    }

    @Test("without trusted origins nothing of all this is there")
    func none() async throws {
        let plain = World()
        let reply = try await plain.send("GET", "/auth/session", ["Origin: \(Self.app)"])
        hasNothing(reply)
        #expect(reply.field("vary") == nil)
        #expect(try await plain.send("OPTIONS", "/auth/token", Self.asking(Self.app)).status == 405)
    }
}
