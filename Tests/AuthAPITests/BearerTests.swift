import AuthDomain
import AuthTesting
import Foundation
import HTTP
import JSON
import Primitives
import Testing

@testable import AuthAPI

@Suite("Bearer credentials")
struct BearerTests {
    private let world = World()

    struct Case: Sendable, CustomTestStringConvertible {
        let id: String
        let title: String
        let object: JSONObject

        var testDescription: String { "\(id): \(title)" }

        static func all(_ file: String) throws -> [Case] {
            let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(file).json")
            let document = try #require(try JSONParser.parse([UInt8](Data(contentsOf: url))).objectValue)
            return try #require(document["cases"]?.arrayValue).map { value in
                let object = try #require(value.objectValue)
                return Case(id: try object.text("id"), title: try object.text("title"), object: object)
            }
        }
    }

    @Test("the Authorization field is read as the case bank says", arguments: try Case.all("bearer"))
    func cases(item: Case) async throws {
        let revoked = try await world.signedIn("session-2", installation: "installation-0002")
        world.store.setStatus(.revoked, of: try #require(UUID(revoked.deviceID)), at: world.clock.now())
        let expired = try await world.signedIn("session-3", installation: "installation-0003")
        world.clock.advance(by: .hours(1))
        let live = try await world.signedIn()

        func filled(_ text: String) -> String {
            text.replacing("{{ACCESS}}", with: live.access).replacing("{{EXPIRED}}", with: expired.access)
                .replacing("{{REVOKED_DEVICE}}", with: revoked.access)
                .replacing("{{60KB}}", with: String(repeating: "a", count: 60_000))
        }
        let fields = try #require(item.object["headers"]?.arrayValue).compactMap(\.stringValue).map(filled)
        let target = "/auth/devices" + filled(item.object["target_suffix"]?.stringValue ?? "")
        var bytes = Array("GET \(target) HTTP/1.1\r\nHost: a\r\n".utf8)
        // Code points below 256 are the bytes.
        for field in fields { bytes += field.unicodeScalars.map { UInt8($0.value) } + Array("\r\n".utf8) }
        let reply = try await world.send(bytes + Array("\r\n".utf8))

        let allowed = try #require(try item.object.object("expect")["status"]?.arrayValue).compactMap(\.integerValue)
        #expect(allowed.contains(Int64(reply.status)), "\(reply.status) \(reply.text)")
        guard reply.status == 401 else { return }
        let challenge = try #require(reply.field("www-authenticate"))
        let body = try reply.json()
        // RFC 6750 §3: an error code only where a token was sent.
        #expect(challenge.contains("error=") == (try body.text("error_reason") != "token_missing"))
        #expect(try body.text("error") == "invalid_token")
    }

    @Test(
        "without a token the challenge has no error, and the client is asked to sign in",
        arguments: [
            ("GET", "/auth/token"), ("GET", "/auth/devices"), ("GET", "/auth/session"), ("POST", "/auth/sign-out"),
            ("DELETE", "/auth/devices?others=true"), ("GET", "/auth/devices/current"),
        ])
    func missing(method: String, target: String) async throws {
        let reply = try await world.send(method, target)
        try reply.isRefusal(401, "invalid_token", "token_missing", "reauth")
        #expect(reply.field("www-authenticate") == "Bearer realm=\"sallyport\"")
    }

    @Test("two Authorization fields are refused, the same one twice too")
    func conflict() async throws {
        let field = "Authorization: Bearer \(try await world.signedIn().access)"
        let parsed = try await world.send("GET", "/auth/devices", [field, field])
        #expect(parsed.status == 400)
        // The parser refuses them before; the reader does not rely on it.
        let target = try #require(RequestTarget("/auth/devices"))
        let request = HTTPRequest(
            method: .get, target: target, fields: ["Authorization": "Bearer a", "authorization": "Bearer a"])
        try Reply(await world.api.respond(to: request)).isBad("token_conflict")
    }

    @Test(
        "a percent sign is for session tokens, padding is for the end, and nothing else is a token's",
        arguments: [
            ("a.b-c_d~e+f/g==", true, true), ("a%2Fb", false, true), ("a=b", false, false), ("=", false, false),
            ("a b", false, false), ("a,b", false, false), ("\"a\"", false, false), ("a\tb", false, false),
            (String(repeating: "a", count: 8_192), true, true), (String(repeating: "a", count: 8_193), false, false),
        ])
    func characters(token: String, isAccess: Bool, isSession: Bool) {
        let fields: HTTPFields = ["Authorization": "Bearer \(token)"]
        #expect(((try? BearerToken.read(fields, .access)) == token) == isAccess)
        #expect(((try? BearerToken.read(fields, .session)) == token) == isSession)
    }

    @Test("a token in the query or in a form is no token")
    func otherPlaces() async throws {
        let access = try await world.signedIn().access
        try await world.send("GET", "/auth/session?access_token=\(access)")
            .isRefusal(401, "invalid_token", "token_missing", "reauth")
        try await world.send(
            "POST", "/auth/sign-out", ["Content-Type: application/x-www-form-urlencoded"],
            body: "access_token=\(access)"
        ).isRefusal(401, "invalid_token", "token_missing", "reauth")
    }

    @Test(
        "an access token past its end, of another kind, or ended says what to do",
        arguments: ["expired", "refresh", "ended"])
    func dead(kind: String) async throws {
        let signedIn = try await world.signedIn()
        switch kind {
        case "expired":
            world.clock.advance(by: .minutes(32))
            try await world.get("/auth/devices", bearer: signedIn.access)
                .isRefusal(401, "invalid_token", "access_expired", "refresh")
        case "refresh":
            let reply = try await world.get("/auth/devices", bearer: signedIn.refresh)
            #expect(reply.status == 401)
            #expect(try reply.json().text("client_action") == "reauth")
        default:
            world.store.end(try #require(UUID(signedIn.sid)), reason: .signedOut, at: world.clock.now())
            let reply = try await world.get("/auth/devices", bearer: signedIn.access)
            try reply.isRefusal(401, "invalid_token", "access_revoked", "refresh")
            #expect(
                reply.field("www-authenticate")
                    == "Bearer realm=\"sallyport\", error=\"invalid_token\", error_description=\"The access token has been revoked.\""
            )
        }
    }

    /// What the case bank asks of Better Auth's cookie and bearer forms, sent as Bearer. Left out are the cookie field's
    /// own syntax, raw tokens (a setting of their own), and base64url, which the contract accepts.
    @Test("a signed session token is read as the case bank says", arguments: try Case.all("session"))
    func sessionTokens(item: Case) async throws {
        guard !["session-003", "session-009", "session-021", "session-022"].contains(item.id) else { return }
        _ = world.session("pQ7vX2mN9kL4wR8tY6uI3oP5aS1d0003")
        let value = try item.object.text("value")
        let minted = try await world.get("/auth/token", bearer: value)
        let exchanged = try await world.exchange(value)
        if try item.object.text("expect") == "accept" {
            #expect(minted.status == 200 && exchanged.status == 200)
        } else {
            #expect(minted.status == 401)
            #expect(exchanged.status == 400)
            #expect(try exchanged.json().text("client_action") != "lock")
        }
    }

    @Test("a session token as base64url and without padding is the same token")
    func sessionTokenForms() async throws {
        let signed = world.session()
        let url = signed.replacing("+", with: "-").replacing("/", with: "_")
        for form in [signed, url, url.replacing("=", with: ""), PercentCoding.encode(signed)] {
            #expect(try await world.get("/auth/token", bearer: form).status == 200)
        }
    }
}
