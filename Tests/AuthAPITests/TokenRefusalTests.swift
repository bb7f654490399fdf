import AuthDomain
import AuthTesting
import HTTP
import JOSE
import JSON
import Primitives
import Testing

@Suite("Token refusals")
struct TokenRefusalTests {
    private let world = World()

    @Test(
        "a form that names a parameter twice is refused, and nothing is used up",
        arguments: [
            "grant_type=refresh_token&refresh_token=R&refresh_token=R",
            "grant_type=refresh_token&grant_type=refresh_token&refresh_token=R",
            "grant_type=refresh_token&refresh_token=R&scope=&scope=api",
            "grant_type=refresh_token&refresh_token=R&%73cope=api&scope=api",
        ])
    func duplicateInForm(form: String) async throws {
        let signedIn = try await world.signedIn()
        let reply = try await world.send(
            "POST", "/auth/token", ["Content-Type: application/x-www-form-urlencoded"],
            body: form.replacing("=R", with: "=" + signedIn.refresh))
        try reply.isBad()
        let id = try #require(UUID(signedIn.sid))
        #expect(world.store.deviceSession(id)?.rotation.generation == 1)
    }

    @Test(
        "JSON that is none, is no object, names a member twice or gives one no text is refused",
        arguments: [
            "", "{", "[]", "7", #"{"grant_type":7}"#, #"{"grant_type":"refresh_token","refresh_token":null}"#,
            #"{"grant_type":"refresh_token","refresh_token":["x"]}"#,
            #"{"grant_type":"refresh_token","refresh_token":"x","scope":["api"]}"#,
            #"{"grant_type":"refresh_token","refresh_token":"x","refresh_token":"x"}"#,
            #"{"grant_type":"refresh_token","refresh_token":"x","flavour":1,"flavour":2}"#,
            "\u{feff}{}", #"{"a":{"a":{"a":{"a":{"a":{"a":{"a":{"a":{}}}}}}}}}"#,
        ])
    func malformedJSON(text: String) async throws {
        try await world.tokenJSON(text).isBad()
    }

    @Test("members that are not ours may be of any kind")
    func unknownMembers() async throws {
        let signedIn = try await world.signedIn()
        let reply = try await world.tokenJSON(
            #"{"flavour":null,"n":[1,{}],"grant_type":"refresh_token","refresh_token":"\#(signedIn.refresh)"}"#)
        #expect(reply.status == 200)
    }

    @Test(
        "a missing or empty parameter is named",
        arguments: [
            ([], "grant_type"), ([("refresh_token", "x")], "grant_type"), ([("grant_type", "")], "grant_type"),
            ([("grant_type", "refresh_token")], "refresh_token"),
            ([("grant_type", "refresh_token"), ("refresh_token", "")], "refresh_token"),
            ([("grant_type", World.exchangeGrant)], "subject_token"),
            ([("grant_type", World.exchangeGrant), ("subject_token", "x")], "subject_token_type"),
        ])
    func missing(fields: [(String, String)], name: String) async throws {
        let body = try await world.token(fields).isBad()
        #expect(try body.text("error_description") == "\(name) is missing.")
    }

    @Test(
        "an unknown grant is told from a malformed request",
        arguments: ["password", "client_credentials", "REFRESH_TOKEN", "refresh_token ", "authorization_code"])
    func grants(grant: String) async throws {
        try await world.token([("grant_type", grant), ("refresh_token", "x")])
            .isBad("grant_unsupported", "unsupported_grant_type")
    }

    @Test("an exchange takes session tokens alone", arguments: ["urn:ietf:params:oauth:token-type:jwt", "session"])
    func subjectTokenType(type: String) async throws {
        let fields = [
            ("grant_type", World.exchangeGrant), ("subject_token", world.session()), ("subject_token_type", type),
        ]
        try await world.token(fields, World.device()).isBad()
    }

    @Test("a scope beyond the granted one and a malformed one are invalid_scope", arguments: ["api admin", "\"", " "])
    func scope(scope: String) async throws {
        let signedIn = try await world.signedIn()
        try await world.refresh(signedIn.refresh, [("scope", scope)]).isBad("scope_invalid", "invalid_scope")
        #expect(try await world.refresh(signedIn.refresh).status == 200)
    }

    @Test(
        "a client_id that is too long or not visible is refused",
        arguments: ["a\nb", "é", String(repeating: "a", count: 129)])
    func clientID(id: String) async throws {
        try await world.refresh("x", [("client_id", id)]).isBad()
    }

    @Test(
        "an idempotency key that is malformed, sent twice or in two versions is refused, and nothing moves",
        arguments: [
            ([], ["Idempotency-Key: short"]), ([], ["Idempotency-Key:"]), ([], ["Idempotency-Key: 0123456789abcde/"]),
            ([("idempotency_key", "short")], []),
            ([("idempotency_key", "0123456789abcdef")], ["Idempotency-Key: 0123456789abcdeX"]),
            ([], ["Idempotency-Key: 0123456789abcdef", "Idempotency-Key: 0123456789abcdef"]),
        ] as [([(String, String)], [String])])
    func idempotencyKey(fields: [(String, String)], header: [String]) async throws {
        let signedIn = try await world.signedIn()
        try await world.refresh(signedIn.refresh, fields, header).isBad()
        let id = try #require(UUID(signedIn.sid))
        #expect(world.store.deviceSession(id)?.rotation.generation == 1)
    }

    @Test(
        "a device that is described badly is refused before anything is looked up",
        arguments: [
            ["X-Device-Id: short"], ["X-Device-Id: ümlaut-ümlaut-ümlaut"], ["X-Device-Id: has space in it 12"],
            ["X-Device-Id: installation-0001", "X-Device-Platform: symbian"],
            ["X-Device-Id: installation-0001", "X-Device-Push-Token: t"],
            ["X-Device-Id: installation-0001", "X-Device-Push-Provider: apns"],
            ["X-Device-Id: installation-0001", "X-Device-Push-Token: t", "X-Device-Push-Provider: pigeon"],
            ["X-Device-Platform: ios"], ["X-Device-Id:", "X-Device-Name: Ada's"],
        ])
    func deviceFields(fields: [String]) async throws {
        let session = world.session()
        world.faults.reset()
        try await world.exchange(session, device: fields).isBad("device_malformed")
        try await world.send("GET", "/auth/token", ["Authorization: Bearer \(session)"] + fields)
            .isBad("device_malformed")
        #expect(world.faults.calls.isEmpty)
    }

    @Test("a device field that is sent twice, or is no UTF-8, is refused")
    func deviceFieldBytes() async throws {
        let session = world.session()
        try await world.exchange(session, device: World.device() + ["X-Device-Name: other"]).isBad()
        let head = "GET /auth/token HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(session)\r\n"
        let fields = "X-Device-Id: installation-0001\r\nX-Device-Name: "
        try await world.send(Array((head + fields).utf8) + [0xff, 0xfe] + Array("\r\n\r\n".utf8)).isBad()
    }

    @Test("header and content that describe different devices are refused")
    func deviceConflict() async throws {
        let fields = [
            ("grant_type", World.exchangeGrant), ("subject_token", world.session()),
            ("subject_token_type", World.sessionType), ("device_id", "installation-0002"),
        ]
        try await world.token(fields, World.device()).isBad("device_malformed")
    }

    @Test("a refresh token that is none, forged or an access token keeps the data", arguments: 0..<4)
    func badRefreshTokens(index: Int) async throws {
        let signedIn = try await world.signedIn()
        let parts = signedIn.refresh.split(separator: ".")
        let flipped = (parts[2].first == "A" ? "B" : "A") + parts[2].dropFirst()
        let token = ["garbage", "a.b.c", "\(parts[0]).\(parts[1]).\(flipped)", signedIn.access][index]
        let reply = try await world.refresh(token)
        let reason = try reply.json().text("error_reason")
        #expect(["token_malformed", "token_foreign"].contains(reason))
        let body = try reply.isRefusal(400, "invalid_grant", reason, "reauth")
        #expect(body["proof"] == nil)
        #expect(try await world.refresh(signedIn.refresh).status == 200)
    }

    @Test("a reused refresh token is answered with its device session, its device and a proof")
    func reuse() async throws {
        let signedIn = try await world.signedIn()
        _ = try await world.refresh(signedIn.refresh, [("idempotency_key", "0123456789abcdef")]).ok()
        world.clock.advance(by: .minutes(1))
        let body = try await world.refresh(signedIn.refresh).isRefusal(400, "invalid_grant", "refresh_reused", "lock")
        #expect(body["sid"] == .string(signedIn.sid))
        #expect(body["device_id"] == .string(signedIn.deviceID))
        let proof = try JSONParser.parse(UnverifiedJWS(body.text("proof")).payload).objectValue
        #expect(proof?["reason"] == "refresh_reused")
        #expect(proof?["action"] == "lock")
    }

    @Test("a session that has expired is 401 with a challenge on both routes")
    func sessionExpired() async throws {
        let session = world.session()
        _ = try await world.exchange(session).ok()
        world.clock.advance(by: .days(8))
        let post = try await world.exchange(session)
        try post.isRefusal(401, "invalid_token", "session_expired", "lock")
        #expect(post.field("www-authenticate")?.contains("error=\"invalid_token\"") == true)
        try await world.get("/auth/token", bearer: session).isRefusal(401, "invalid_token", "session_expired", "lock")
    }

    @Test("a revoked device is a bad grant on POST and a bad token on GET, with a proof on both")
    func revokedDevice() async throws {
        let signedIn = try await world.signedIn()
        world.store.setStatus(.revoked, of: try #require(UUID(signedIn.deviceID)), at: world.clock.now())
        let post = try await world.refresh(signedIn.refresh)
            .isRefusal(400, "invalid_grant", "device_revoked", "wipe")
        let get = try await world.get("/auth/token", bearer: world.session())
            .isRefusal(401, "invalid_token", "device_revoked", "wipe")
        #expect(try !post.text("proof").isEmpty && !get.text("proof").isEmpty)
    }

    @Test("an unverified user is 403 where the gate denies, and keeps everything")
    func unverified() async throws {
        let world = World(gate: .deny)
        world.store.putUser("user-1", isVerified: false)
        let session = world.session()
        try await world.exchange(session).isRefusal(403, "access_denied", "identity_unverified", "verify")
        try await world.get("/auth/token", bearer: session)
            .isRefusal(403, "access_denied", "identity_unverified", "verify")
    }

    @Test("an outage at any call is 503 and no verdict", arguments: Unavailability.allCases)
    func outage(cause: Unavailability) async throws {
        let signedIn = try await world.signedIn()
        let session = world.session("session-2")
        world.faults.failAlways(cause)
        let reason = cause == .misconfigured ? "dependency" : cause.rawValue
        let replies = [
            try await world.refresh(signedIn.refresh), try await world.exchange(session),
            try await world.get("/auth/token", bearer: session),
            try await world.get("/auth/devices", bearer: signedIn.access),
            try await world.get("/auth/session", bearer: signedIn.access),
        ]
        for reply in replies { try reply.isRefusal(503, "temporarily_unavailable", reason, "retry") }
        world.faults.failAlways(nil)
        #expect(try await world.refresh(signedIn.refresh).status == 200)
    }

    @Test("before the first key every token route answers starting")
    func starting() async throws {
        let world = World(keyring: nil)
        let replies = [
            try await world.refresh("x"), try await world.exchange(world.session()),
            try await world.get("/auth/token", bearer: world.session()),
            try await world.get("/auth/devices", bearer: "x"),
        ]
        for reply in replies { try reply.isRefusal(503, "temporarily_unavailable", "starting", "retry") }
    }

    @Test("neither a refusal nor the log repeats what was presented")
    func noEcho() async throws {
        let canary = "canary-5f1c9d2e7b"
        let replies = [
            try await world.refresh(canary), try await world.exchange(canary + ".c2ln"),
            try await world.get("/auth/token", bearer: canary), try await world.get("/auth/devices", bearer: canary),
            try await world.token([("grant_type", canary)]), try await world.refresh("x", [("scope", canary + "\"")]),
            try await world.refresh("x", [("idempotency_key", canary)]),
            try await world.exchange(world.session(), device: ["X-Device-Id: \(canary)!"]),
            try await world.send("GET", "/\(canary)?\(canary)=\(canary)"), try await world.send(canary, "/auth/token"),
            try await world.send("POST", "/auth/token", ["Content-Type: text/\(canary)"], body: canary),
            try await world.tokenJSON("{\"\(canary)\":"),
        ]
        for reply in replies {
            #expect(reply.status >= 400)
            #expect(!reply.text.contains(canary))
            for (name, value) in reply.response.fields { #expect(!name.contains(canary) && !value.contains(canary)) }
        }
        #expect(world.log.lines.count == replies.count)
        #expect(!world.log.lines.contains { $0.contains(canary) })
    }
}
