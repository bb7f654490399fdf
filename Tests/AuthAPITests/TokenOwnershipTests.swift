import AuthDomain
import AuthTesting
import Crypto
import HTTP
import JOSE
import JSON
import Primitives
import Testing

@testable import AuthAPI

/// An access key has leaked: tokens are well signed and say what the thief likes. A thief's own `sid` is live.
@Suite("Whose a token is")
struct TokenOwnershipTests {
    private let world = World()

    struct Forgery: Sendable, CustomTestStringConvertible {
        let title: String
        /// What the thief puts into a token of their own.
        let names: Set<String>
        var isPlain = false

        var testDescription: String { title }
    }

    private static let forgeries = [
        Forgery(title: "the victim's sub with one's own device session", names: ["sub"]),
        Forgery(title: "the victim's sub and device with one's own device session", names: ["sub", "device_id"]),
        Forgery(title: "the victim's device with one's own device session", names: ["device_id"]),
        Forgery(title: "the victim's device session", names: ["sid"]),
        Forgery(title: "the victim's device session and device", names: ["sid", "device_id"]),
        Forgery(title: "the victim's sub with one's own session", names: ["sub"], isPlain: true),
        Forgery(
            title: "the victim's sub and device with one's own session", names: ["sub", "device_id"], isPlain: true),
        Forgery(title: "the victim's device with one's own session", names: ["device_id"], isPlain: true),
    ]

    private func claims(_ token: String) throws -> JSONObject {
        try #require(try JSONParser.parse(UnverifiedJWS(token).payload).objectValue)
    }

    private func signed(_ claims: JSONObject) throws -> String {
        let input = JWS.signingInput(
            header: JWTHeader(type: "at+jwt", kid: JWK(FixedKeys.signing.publicKey).kid).json, claims: claims)
        return JWS.compact(signingInput: input, signature: try FixedKeys.signing.sign(input))
    }

    /// A victim, and a thief's token with claims of the victim's.
    private func forged(_ forgery: Forgery) async throws -> (victim: World.SignedIn, token: String) {
        world.store.putUser("user-2")
        let victim = try await world.signedIn()
        let own =
            forgery.isPlain
            ? try await world.exchange(world.session("session-2", of: "user-2"), device: []).ok().text("access_token")
            : try await world.signedIn("session-2", of: "user-2", installation: "installation-0002").access
        let stolen = try claims(victim.access)
        var mixed = try claims(own)
        for name in forgery.names { mixed[name] = stolen[name] }
        return (victim, try signed(mixed))
    }

    @Test("user, session and device of a token that do not belong together open no route", arguments: forgeries)
    func routes(forgery: Forgery) async throws {
        let (victim, token) = try await forged(forgery)
        var count = 0
        for route in world.api.table.routes {
            guard case .caller = route.handler else { continue }
            count += 1
            var target = route.pattern.text.replacing("{id}", with: victim.deviceID)
            if target == "/auth/devices", route.method == .delete { target += "?others=true" }
            let hasBody = !route.accepts.isEmpty
            let reply = try await world.send(
                route.method.name, target,
                ["Authorization: Bearer \(token)"] + (hasBody ? ["Content-Type: application/json"] : []),
                body: hasBody ? #"{"everywhere":true,"name":"Taken"}"# : nil)
            try reply.isRefusal(401, "invalid_token", "token_foreign", "reauth")
        }
        #expect(count >= 9)
        #expect(try await world.refresh(victim.refresh).status == 200)
        #expect(try await world.get("/auth/session", bearer: victim.access).status == 200)
    }

    @Test("introspection calls it dead, and revoking it revokes nothing", arguments: forgeries)
    func contents(forgery: Forgery) async throws {
        let (victim, token) = try await forged(forgery)
        func post(_ target: String, _ fields: [String]) async throws -> Reply {
            try await world.send(
                "POST", target, ["Content-Type: application/x-www-form-urlencoded"] + fields,
                body: FormCoding.encode([(name: "token", value: token)]))
        }
        let basic = "Authorization: Basic \(Base64.encode(Array("api:\(World.resourceServerSecret)".utf8)))"
        #expect(try await post("/auth/introspect", [basic]).response.content == Array(#"{"active":false}"#.utf8))
        #expect(try await post("/auth/revoke", []).status == 200)
        #expect(world.store.revokedTokens.isEmpty)
        #expect(try await world.get("/auth/session", bearer: victim.access).status == 200)
    }

    @Test("what the row of a device session knows is not taken from a token: the sign-in is as old as it is")
    func row() async throws {
        let old = try await world.signedIn(age: .hours(1))
        let other = try await world.signedIn("session-2", installation: "installation-0002")
        var claims = try claims(old.access)
        claims["auth_time"] = .integer(world.clock.now().secondsSinceEpoch)
        claims["client_id"] = "another"
        let token = try signed(claims)
        let session = try await world.get("/auth/session", bearer: token).ok()
        #expect(session["client_id"] == "app")
        try await world.send("DELETE", "/auth/devices/\(other.deviceID)", ["Authorization: Bearer \(token)"])
            .isRefusal(401, "insufficient_user_authentication", "step_up_required", "step_up")
    }

    @Test("a token of a session on the device that it was used with passes")
    func bound() async throws {
        let reply = try await world.send(
            "GET", "/auth/token", ["Authorization: Bearer \(world.session())"] + World.device()
        ).ok()
        let device = try await world.get("/auth/devices/current", bearer: try reply.text("token")).ok()
        #expect(try device.text("id") == (try reply.text("device_id")))
    }
}
