import AuthDomain
import AuthTesting
import HTTP
import JOSE
import JSON
import Primitives
import Testing

@Suite("Introspection (RFC 7662)")
struct IntrospectionRouteTests {
    private let world = World()
    private let dead = Array(#"{"active":false}"#.utf8)

    private static func basic(_ pair: String) -> String { "Authorization: Basic \(Base64.encode(Array(pair.utf8)))" }

    private func introspect(
        _ fields: [(String, String)], as credentials: [String] = [basic("api:" + World.resourceServerSecret)]
    ) async throws -> Reply {
        try await world.send(
            "POST", "/auth/introspect", ["Content-Type: application/x-www-form-urlencoded"] + credentials,
            body: FormCoding.encode(fields.map { (name: $0.0, value: $0.1) }))
    }

    private func isDead(_ token: String) async throws -> Bool {
        let reply = try await introspect([("token", token)])
        return reply.status == 200 && reply.response.content == dead
    }

    @Test("a live access token is what it says, as a Bearer token, and no cache keeps it")
    func access() async throws {
        world.store.setCustomClaims(#"{"team":"blue","active":false,"token_type":"none"}"#)
        let signedIn = try await world.signedIn()
        let reply = try await introspect([("token", signedIn.access), ("token_type_hint", "refresh_token")])
        #expect(reply.field("cache-control") == "no-store")
        var body = try reply.ok()
        #expect(body["active"] == true && body["token_type"] == "Bearer" && body["team"] == "blue")
        body["active"] = nil
        body["token_type"] = nil
        var claims = try #require(try JSONParser.parse(UnverifiedJWS(signedIn.access).payload).objectValue)
        claims["active"] = nil
        claims["token_type"] = nil
        #expect(body == claims)
    }

    @Test("a refresh token is live as long as it would be taken")
    func refresh() async throws {
        let signedIn = try await world.signedIn()
        let body = try await introspect([("token", signedIn.refresh)]).ok()
        #expect(body["active"] == true && body["token_type"] == nil && body["jti"] == nil)
        #expect(body["sid"] == .string(signedIn.sid) && body["sub"] == "user-1" && body["scope"] == "api sync")
        let next = try await world.refresh(signedIn.refresh, [("idempotency_key", "key-0123456789abcdef")]).ok()
        world.clock.advance(by: .seconds(11))
        #expect(try await isDead(signedIn.refresh))
        #expect(try await introspect([("token", next.text("refresh_token"))]).ok()["active"] == true)
        world.clock.advance(by: .days(31))
        #expect(try await isDead(next.text("refresh_token")))
    }

    @Test("what is dead is exactly {\"active\":false}")
    func dead() async throws {
        let gone = try await world.signedIn()
        let signedIn = try await world.signedIn("session-2", installation: "installation-0002")
        for token in ["garbage", "a.b.c", String(gone.access.dropLast(4)) + "AAAA", world.session("session-9")] {
            #expect(try await isDead(token))
        }
        _ = try await world.send(
            "DELETE", "/auth/devices/\(gone.deviceID)", ["Authorization: Bearer \(signedIn.access)"])
        #expect(try await isDead(gone.access))
        #expect(try await isDead(gone.refresh))
        #expect(try await !isDead(signedIn.access))
        world.clock.advance(by: .minutes(32))
        #expect(try await isDead(signedIn.access))
    }

    @Test(
        "who is no resource server gets a Basic challenge and learns nothing",
        arguments: [
            [], [basic("api:wrong")], [basic("other:" + World.resourceServerSecret)], [basic("api")], [basic(":")],
            ["Authorization: Basic !!!"], ["Authorization: Basic"], ["Authorization: Bearer abc"],
        ])
    func strangers(credentials: [String]) async throws {
        let signedIn = try await world.signedIn()
        let reply = try await introspect([("token", signedIn.access)], as: credentials)
        try reply.isRefusal(401, "invalid_client", "client_unknown", "none")
        #expect(reply.field("www-authenticate") == #"Basic realm="sallyport", charset="UTF-8""#)
    }

    @Test("a user's own token opens nothing, and two credentials are a conflict")
    func notForUsers() async throws {
        let signedIn = try await world.signedIn()
        try await introspect([("token", signedIn.access)], as: ["Authorization: Bearer \(signedIn.access)"])
            .isRefusal(401, "invalid_client", "client_unknown", "none")
        let good = Self.basic("api:" + World.resourceServerSecret)
        try await introspect([("token", signedIn.access)], as: [good, good]).isBad()
        try await world.get("/auth/session", bearer: Base64.encode(Array(("api:" + World.resourceServerSecret).utf8)))
            .isRefusal(401, "invalid_token", "token_malformed", "reauth")
    }

    @Test(
        "id and secret may be form-encoded as RFC 6749 says, or not, and the scheme's case does not matter",
        arguments: [
            "Basic " + Base64.encode(Array(("api:" + World.resourceServerSecret).utf8)),
            "basic " + Base64.encode(Array(("api:" + PercentCoding.encode(World.resourceServerSecret)).utf8)),
            "BASIC  " + Base64.encode(Array(("%61pi:" + PercentCoding.encode(World.resourceServerSecret)).utf8)),
        ])
    func encodings(value: String) async throws {
        let reply = try await introspect([("token", "garbage")], as: ["Authorization: \(value)"])
        #expect(reply.status == 200 && reply.response.content == dead)
    }

    @Test("no token, and a parameter that comes twice, are invalid_request")
    func malformed() async throws {
        try await introspect([]).isBad()
        try await introspect([("token", "a"), ("token", "a")]).isBad()
        try await introspect([("token", "a"), ("token_type_hint", "b"), ("token_type_hint", "c")]).isBad()
        #expect(try await introspect([("token", "a"), ("resource", "b"), ("flavour", "c")]).response.content == dead)
    }

    @Test("an outage is 503, never \"dead\"")
    func outage() async throws {
        let signedIn = try await world.signedIn()
        world.faults.fail(before: .accessView, .dependency)
        for token in [signedIn.access, signedIn.refresh] {
            try await introspect([("token", token)])
                .isRefusal(503, "temporarily_unavailable", "dependency", "retry")
        }
    }
}
