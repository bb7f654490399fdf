import AuthTesting
import JOSE
import JSON
import Primitives
import Testing

@Suite("The main job, over sockets", .blocking)
struct MainJobTests {
    private let members: Set<String> = [
        "token_type", "access_token", "expires_in", "expires_at", "refresh_token", "refresh_expires_in",
        "refresh_expires_at", "session_expires_in", "session_expires_at", "reauth_soon", "scope", "sid", "device_id",
        "server_time", "verdict_key", "offline",
    ]

    @Test("a session becomes a pair, strangers verify it by the published keys, and it rotates")
    func pair() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let session = try site.tables.signIn()
        let pair = try client.signedIn(session.signed)
        let names = try #require(pair.answer.json?.names)
        #expect(members.isSubset(of: names), "\(names)")
        #expect(pair.answer.field("cache-control") == "no-store")
        #expect(pair.answer.field("pragma") == "no-cache")
        #expect(try pair.answer.integer("expires_in") == 1_800)
        #expect(try pair.answer.integer("refresh_expires_in") == 2_592_000)

        let keySet = try client.get("/.well-known/jwks.json")
        let token = try verified(pair.access, by: keySet)
        #expect(token.subject == session.userID)
        #expect(token.claims["sid"] == .string(pair.sid))
        #expect(token.claims["device_id"] == .string(pair.deviceID))
        #expect(token.claims["email_verified"] == true)
        #expect(token.claims["scope"] == "api sync")
        #expect(token.expiresAt - token.issuedAt == .minutes(30))
        #expect(throws: JOSEError.self) { try verified(pair.access, by: keySet, audience: "somebody-else") }
        // The refresh key is in no key set.
        #expect(throws: JOSEError.self) { try UnverifiedJWS(pair.refresh).verifySignature { _ in nil } }
        let keys = try JWKSet.parse(keySet.body)
        #expect(try UnverifiedJWS(pair.refresh).kid.map { keys[$0] == nil } ?? false)

        let next = try client.refreshed(pair.refresh)
        #expect(try pair.generation == 1)
        #expect(try next.generation == 2)
        #expect(next.refresh != pair.refresh && next.access != pair.access)
        #expect(next.sid == pair.sid && next.deviceID == pair.deviceID)
        #expect(try verified(next.access, by: keySet).subject == session.userID)
    }

    @Test("the same installation by headers, by form members and by JSON members is the same device")
    func formsOfExchange() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let session = try site.tables.signIn()
        let byHeaders = try client.signedIn(session.signed)
        let form = [
            ("grant_type", AuthClient.exchangeGrant), ("subject_token", session.signed),
            ("subject_token_type", AuthClient.sessionType), ("device_id", "installation-0001"),
            ("device_platform", "ios"), ("device_name", "Ada's phone"),
        ]
        let byForm = try TokenPair(client.token(form))
        let json = JSONObject(form.map { ($0.0, JSONValue.string($0.1)) })
        let byJSON = try TokenPair(client.call("POST", "/auth/token", json: json))
        #expect(Set([byHeaders, byForm, byJSON].map(\.deviceID)).count == 1)
        #expect(Set([byHeaders, byForm, byJSON].map(\.sid)).count == 3)
    }

    @Test("without a device, and at GET /auth/token, there is an access token and no refresh token")
    func accessOnly() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let session = try site.tables.signIn()
        let keySet = try client.get("/.well-known/jwks.json")
        let exchanged = try client.exchange(session.signed, installation: nil)
        let fetched = try client.get("/auth/token", bearer: session.signed)
        for answer in [exchanged, fetched] {
            #expect(answer.status == 200, "\(answer)")
            #expect(answer.json?["refresh_token"] == nil)
            let token = try verified(answer.text("access_token"), by: keySet)
            #expect(token.claims["device_id"] == nil)
            #expect(token.claims["sid"]?.stringValue?.hasPrefix("s_") ?? false)
        }
        #expect(try fetched.text("token") == fetched.text("access_token"))
        #expect(try fetched.field("set-auth-jwt") == fetched.text("access_token"))
    }

    @Test("a forged, a foreign and a malformed credential are refused, and end nothing")
    func refusals() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let session = try site.tables.signIn()
        let pair = try client.signedIn(session.signed)
        try expectRefusal(
            client.exchange(session.token), 400, "invalid_grant", "token_malformed", "reauth")
        try expectRefusal(
            client.exchange(session.token + "." + String(repeating: "A", count: 43) + "="), 400, "invalid_grant",
            "token_foreign", "reauth")
        let unknown = site.tables.signed("a-token-without-a-row")
        try expectRefusal(client.exchange(unknown), 400, "invalid_grant", "session_unknown", "reauth")
        try expectRefusal(client.refresh("garbage"), 400, "invalid_grant", "token_malformed", "reauth")
        try expectRefusal(client.refresh(pair.access), 400, "invalid_grant", "token_foreign", "reauth")
        let other = try AuthClient(Site().serve())
        try expectRefusal(other.refresh(pair.refresh), 400, "invalid_grant", "token_foreign", "reauth")
        let missing = try client.get("/auth/devices")
        #expect(missing.status == 401)
        #expect(missing.field("www-authenticate")?.hasPrefix("Bearer") ?? false)
        #expect(try client.get("/auth/devices", bearer: pair.refresh).status == 401)
        #expect(try client.refreshed(pair.refresh).generation == 2)
    }

    @Test("devices are listed, read, renamed and revoked, and another user's is not there")
    func devices() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let user = try site.tables.user()
        let phone = try client.signedIn(site.tables.session(of: user).signed, installation: "installation-phone")
        let tablet = try client.signedIn(site.tables.session(of: user).signed, installation: "installation-tablet")
        let stranger = try client.signedIn(site.tables.signIn().signed)

        let listed = try #require(try client.get("/auth/devices", bearer: phone.access).json?["devices"]?.arrayValue)
        #expect(Set(listed.compactMap { $0.objectValue?["id"]?.stringValue }) == [phone.deviceID, tablet.deviceID])
        let current = listed.compactMap(\.objectValue).filter { $0["current"] == true }
        #expect(current.map { $0["id"]?.stringValue } == [phone.deviceID])
        #expect(
            try client.get("/auth/devices/\(tablet.deviceID)", bearer: phone.access).text("installation_id")
                == "installation-tablet")
        let renamed = try client.call(
            "PATCH", "/auth/devices/\(tablet.deviceID)", bearer: phone.access, json: ["name": "Van"])
        #expect(try renamed.status == 200 && renamed.text("name") == "Van")
        for method in ["GET", "DELETE"] {
            let foreign = try client.call(method, "/auth/devices/\(phone.deviceID)", bearer: stranger.access)
            #expect(foreign.status == 404, "\(foreign)")
        }
        #expect(try client.call("DELETE", "/auth/devices/\(tablet.deviceID)", bearer: phone.access).status == 204)
        #expect(try client.call("DELETE", "/auth/devices/\(tablet.deviceID)", bearer: phone.access).status == 204)
        let shown = try client.get("/auth/devices/\(tablet.deviceID)", bearer: phone.access)
        #expect(try shown.text("status") == "revoked")
        #expect(try client.refreshed(phone.refresh).generation == 2)
    }

    @Test("verification is read at every mint: the next refresh carries the new state")
    func verification() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let session = try site.tables.signIn(isVerified: false)
        let pair = try client.signedIn(session.signed)
        #expect(try pair.answer.text("scope") == "api")
        #expect(try pair.accessClaims["email_verified"] == false)
        #expect(try pair.accessClaims["aud"] == [.string(Site.issuer)])
        try site.tables.setVerified(true, userID: session.userID)
        let next = try client.refreshed(pair.refresh)
        #expect(try next.answer.text("scope") == "api sync")
        #expect(try next.accessClaims["email_verified"] == true)
    }

    @Test("the operator's claims are in the token, and a function that fails is a 503 that moves nothing")
    func operatorsClaims() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let pair = try client.signedIn(site.tables.signIn().signed)
        let function = "CREATE OR REPLACE FUNCTION sallyport.custom_claims(user_id text, device_id uuid)"
        try site.database.sql(
            function + """
                 RETURNS jsonb LANGUAGE sql STABLE AS
                $$ SELECT jsonb_build_object('tenant', 't-1', 'sub', 'somebody', 'device', device_id) $$
                """)
        let next = try client.refreshed(pair.refresh)
        #expect(try next.accessClaims["tenant"] == "t-1")
        #expect(try next.accessClaims["device"] == .string(pair.deviceID))
        #expect(try next.accessClaims["sub"] == pair.accessClaims["sub"])
        try site.database.sql(function + " RETURNS jsonb LANGUAGE sql STABLE AS $$ SELECT to_jsonb(1 / 0) $$")
        let failed = try client.refresh(next.refresh)
        try expectUnavailable(failed, among: ["dependency", "misconfigured"])
        try site.database.sql(function + " RETURNS jsonb LANGUAGE sql STABLE AS $$ SELECT '{}'::jsonb $$")
        #expect(try client.refreshed(next.refresh).generation == 3)
    }

    @Test("an identity role that may read the named columns only is enough")
    func identityRole() throws {
        let site = try Site()
        try site.tables.grantReading(to: "identity_reader")
        let client = try AuthClient(
            site.serve(settings: [
                "SALLYPORT_IDENTITY_DATABASE_URL": site.database.url(role: "identity_reader")
            ]))
        let pair = try client.signedIn(site.tables.signIn().signed)
        #expect(try client.refreshed(pair.refresh).generation == 2)
        #expect(try client.get("/readyz").status == 200)
    }
}
