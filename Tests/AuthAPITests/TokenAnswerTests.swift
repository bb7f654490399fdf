import AuthDomain
import AuthTesting
import JOSE
import JSON
import Primitives
import Testing

@Suite("Token answers")
struct TokenAnswerTests {
    private let world = World()

    @Test("an exchange on a device answers every member in the contract's order")
    func exchange() async throws {
        let reply = try await world.exchange(world.session())
        let body = try reply.ok()
        #expect(
            body.names == [
                "token_type", "access_token", "expires_in", "expires_at", "refresh_token", "refresh_expires_in",
                "refresh_expires_at", "session_expires_in", "session_expires_at", "reauth_soon", "scope", "sid",
                "device_id", "server_time", "verdict_key", "offline", "issued_token_type",
            ])
        #expect(body["issued_token_type"] == "urn:ietf:params:oauth:token-type:access_token")
        #expect(reply.field("cache-control") == "no-store")
        #expect(reply.field("pragma") == "no-cache")
        let now = world.clock.now().secondsSinceEpoch
        #expect(body["token_type"] == "Bearer")
        #expect(body["scope"] == "api sync")
        #expect(body["server_time"] == .integer(now))
        #expect(body["reauth_soon"] == false)
        for (name, seconds) in [("expires", 1_800), ("refresh_expires", 2_592_000), ("session_expires", 7_776_000)] {
            #expect(try body.number(name + "_in") == Int64(seconds))
            #expect(try body.number(name + "_at") == now + Int64(seconds))
        }
        #expect(try body.object("verdict_key") == FixedKeys.keyring.verdict.jwk.json)
        let offline = try body.object("offline")
        #expect(offline.names == ["read_for", "read_until", "write_for", "write_until", "policy_version"])
        #expect(offline["read_for"] == 2_592_000)
        #expect(offline["write_for"] == 604_800)
        #expect(offline["write_until"] == .integer(now + 604_800))
    }

    @Test("durations and instants agree when the clock stands between two seconds")
    func wholeSeconds() async throws {
        world.clock.advance(by: .milliseconds(999))
        let body = try await world.signedIn().body
        for name in ["expires", "refresh_expires", "session_expires"] {
            #expect(try body.number(name + "_at") - body.number(name + "_in") == body.number("server_time"))
        }
    }

    @Test("an exchange without a device answers an access token alone")
    func withoutDevice() async throws {
        let body = try await world.exchange(world.session(), device: []).ok()
        #expect(
            body.names == [
                "token_type", "access_token", "expires_in", "expires_at", "scope", "sid", "server_time", "verdict_key",
                "issued_token_type",
            ])
        #expect(try body.text("sid").hasPrefix("s_"))
    }

    @Test("the version of an app alone describes no device")
    func appVersionAlone() async throws {
        let body = try await world.exchange(world.session(), device: ["X-App-Version: 1.0"]).ok()
        #expect(body["device_id"] == nil)
    }

    @Test("JSON members describe the same device as header fields, and both together may agree")
    func deviceInContent() async throws {
        let session = world.session()
        let first = try await world.exchange(session).ok()
        let json = """
            {"grant_type":"\(World.exchangeGrant)","subject_token":"\(session)","subject_token_type":\
            "\(World.sessionType)","device_id":"\(World.installation)","device_platform":"ios","device_name":"Grün 📱",\
            "device_model":"A1","device_os_version":"17","app_version":"2","device_push_token":"push-1",\
            "device_push_provider":"apns"}
            """
        for header in [[], World.device()] {
            let body = try await world.tokenJSON(json, header).ok()
            #expect(body["device_id"] == first["device_id"])
        }
        let id = try #require(try UUID(first.text("device_id")))
        let device = try #require(world.store.storedDevice(id))
        #expect(device.metadata.name == "Grün 📱")
        #expect(device.metadata.model == "A1")
        #expect(device.metadata.osVersion == "17")
        #expect(device.metadata.appVersion == "2")
        #expect(world.store.pushToken(of: device.id) == "push-1")
    }

    @Test("a refresh as a form and one as JSON rotate, and the refresh token's own key is not published")
    func refresh() async throws {
        let first = try await world.signedIn()
        let second = try await world.refresh(first.refresh).ok()
        #expect(second.names == first.body.names.filter { $0 != "issued_token_type" })
        #expect(second["sid"] == first.body["sid"])
        #expect(second["refresh_token"] != first.body["refresh_token"])
        let third = try await world.tokenJSON(
            #"{"grant_type":"refresh_token","refresh_token":"\#(try second.text("refresh_token"))"}"#
        ).ok()
        #expect(third["sid"] == first.body["sid"])
        let kid = try UnverifiedJWS(third.text("refresh_token")).kid
        #expect(!FixedKeys.keyring.published.map(\.kid).contains(kid ?? ""))
    }

    @Test("an idempotency key counts from the header, from the content, and in quotes")
    func idempotencyKey() async throws {
        let key = "0123456789abcdef"
        let ways: [([(String, String)], [String])] = [
            ([], ["Idempotency-Key: \(key)"]), ([("idempotency_key", key)], []),
            ([("idempotency_key", key)], ["Idempotency-Key: \"\(key)\""]),
        ]
        for (index, way) in ways.enumerated() {
            let signedIn = try await world.signedIn("session-\(index)", installation: "installation-000\(index)")
            let first = try await world.refresh(signedIn.refresh, way.0, way.1).ok()
            world.clock.advance(by: .minutes(1))
            let retry = try await world.refresh(signedIn.refresh, [("idempotency_key", key)]).ok()
            #expect(retry["refresh_token"] == first["refresh_token"])
        }
    }

    @Test("a refresh may narrow its scope; empty and unknown parameters count as left out")
    func scope() async throws {
        let signedIn = try await world.signedIn()
        let narrow = try await world.refresh(signedIn.refresh, [("scope", "api")]).ok()
        #expect(narrow["scope"] == "api")
        let whole = try await world.refresh(
            narrow.text("refresh_token"), [("scope", ""), ("client_id", ""), ("flavour", "vanilla")]
        ).ok()
        #expect(whole["scope"] == "api sync")
    }

    @Test("the form may name UTF-8 as its charset")
    func charset() async throws {
        let signedIn = try await world.signedIn()
        let reply = try await world.send(
            "POST", "/auth/token", ["Content-Type: application/x-www-form-urlencoded; charset=UTF-8"],
            body: "grant_type=refresh_token&refresh_token=\(signedIn.refresh)")
        #expect(reply.status == 200)
    }

    @Test("GET /auth/token gives the access token under three names and no refresh token")
    func accessToken() async throws {
        let reply = try await world.get("/auth/token", bearer: world.session())
        let body = try reply.ok()
        #expect(
            body.names == [
                "token_type", "access_token", "token", "expires_in", "expires_at", "scope", "sid", "server_time",
                "verdict_key",
            ])
        #expect(body["token"] == body["access_token"])
        #expect(reply.field("set-auth-jwt") == (try body.text("access_token")))
        #expect(reply.field("pragma") == "no-cache")
    }

    @Test("GET /auth/token with device fields binds the session to the device")
    func accessTokenOnDevice() async throws {
        let session = world.session()
        let fields = ["Authorization: Bearer \(session)"]
        let first = try await world.send("GET", "/auth/token", fields + World.device()).ok()
        let second = try await world.send("GET", "/auth/token", fields).ok()
        #expect(try first.text("device_id") == second.text("device_id"))
        #expect(first["refresh_token"] == nil && first["offline"] == nil)
    }

    @Test("GET /auth/token?scope= narrows: the token has the scopes asked for, and no audience beyond them")
    func accessTokenNarrowed() async throws {
        let session = world.session()
        for (query, scope, audiences) in [
            ("", "api sync", [World.issuer, "powersync"]), ("?scope=", "api sync", [World.issuer, "powersync"]),
            ("?scope=api", "api", [World.issuer]), ("?scope=sync", "sync", [World.issuer, "powersync"]),
            ("?scope=sync+api", "sync api", [World.issuer, "powersync"]),
            ("?scope=sync%20api&x=y", "sync api", [World.issuer, "powersync"]),
        ] as [(String, String, [String])] {
            let body = try await world.get("/auth/token" + query, bearer: session).ok()
            let claims = try TokenPair.claims(body.text("access_token"))
            #expect(body["scope"] == .string(scope) && claims["scope"] == .string(scope), "\(query)")
            #expect(claims["aud"] == .array(audiences.map(JSONValue.string)), "\(query)")
        }
        for query in ["?scope=admin", "?scope=api+admin", "?scope=%22", "?scope=api,sync", "?scope=+"] {
            try await world.get("/auth/token" + query, bearer: session)
                .isRefusal(400, "invalid_scope", "scope_invalid", "none")
        }
        for query in ["?scope=api&scope=sync", "?scope=%zz"] {
            let reply = try await world.get("/auth/token" + query, bearer: session)
            #expect(reply.status == 400, "\(query)")
        }
    }
}
