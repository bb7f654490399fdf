import AuthTesting
import JOSE
import JSON
import Primitives
import Testing

@Suite("The verified gate and the operator's claims, over sockets", .blocking)
struct GateTests {
    /// Scopes and audiences go together.
    private func expect(
        _ pair: TokenPair, verified: Bool, scope: String, isForSync: Bool,
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let claims = try pair.accessClaims
        #expect(claims["email_verified"] == .bool(verified), sourceLocation: location)
        #expect(claims["scope"] == .string(scope), sourceLocation: location)
        #expect(try pair.answer.text("scope") == scope, sourceLocation: location)
        let audiences = try #require(claims["aud"]?.arrayValue, sourceLocation: location)
        #expect(audiences.contains("powersync") == isForSync, sourceLocation: location)
        #expect(audiences.contains(.string(Site.issuer)), sourceLocation: location)
    }

    @Test("scopes: sync and its audience are withheld together, at each mint, until the user is verified")
    func scopes() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let session = try site.tables.signIn(isVerified: false)
        let pair = try client.signedIn(session.signed)
        try expect(pair, verified: false, scope: "api", isForSync: false)
        let second = try client.refreshed(pair.refresh)
        try expect(second, verified: false, scope: "api", isForSync: false)
        // Asked for by name it is withheld as well.
        let form = [("grant_type", "refresh_token"), ("refresh_token", second.refresh)]
        let third = try TokenPair(client.token(form + [("scope", "api sync")]))
        try expect(third, verified: false, scope: "api", isForSync: false)
        // A mint with nothing left is refused, and uses nothing up.
        let nothing = try client.token(
            [("grant_type", "refresh_token"), ("refresh_token", third.refresh), ("scope", "sync")])
        try expectRefusal(nothing, 403, "access_denied", "identity_unverified", "verify")
        #expect(nothing.field("www-authenticate") == nil && nothing.json?["proof"] == nil)

        try site.tables.setVerified(true, userID: session.userID)
        let verified = try client.refreshed(third.refresh)
        try expect(verified, verified: true, scope: "api sync", isForSync: true)
        #expect(try verified.generation == 4)
        try site.tables.setVerified(false, userID: session.userID)
        try expect(client.refreshed(verified.refresh), verified: false, scope: "api", isForSync: false)
    }

    @Test("audiences of the operator's own are withheld without being named, and a narrowed token opens the API alone")
    func ownAudiences() throws {
        let (api, sync) = ("https://api.example.com", "https://sync.example.com")
        let site = try Site(settings: ["SALLYPORT_AUDIENCES": "\(api),\(sync)", "SALLYPORT_ACCESS_TYP": "JWT"])
        let client = try AuthClient(site.serve())
        let session = try site.tables.signIn(isVerified: false)
        func audiences(_ token: String) throws -> JSONValue? { try TokenPair.claims(token)["aud"] }
        let pair = try client.signedIn(session.signed)
        #expect(try UnverifiedJWS(pair.access).type == "JWT")
        #expect(try audiences(pair.access) == [.string(Site.issuer)])
        #expect(try client.get("/auth/session", bearer: pair.access).status == 200)
        try site.tables.setVerified(true, userID: session.userID)
        let verified = try client.refreshed(pair.refresh)
        #expect(try audiences(verified.access) == [.string(api), .string(sync)])
        let narrow = try client.get("/auth/token?scope=api", bearer: session.signed)
        let token = try #require(narrow.json?["access_token"]?.stringValue)
        #expect(try audiences(token) == [.string(Site.issuer)])
        // Under the other setting the tokens of this one live on.
        let other = try AuthClient(site.serve(settings: ["SALLYPORT_ACCESS_TYP": "at+jwt"]))
        #expect(try other.get("/auth/session", bearer: verified.access).status == 200)
    }

    @Test("claim reports and withholds nothing")
    func claim() throws {
        let site = try Site(settings: ["SALLYPORT_VERIFIED_GATE": "claim"])
        let client = try AuthClient(site.serve())
        let pair = try client.signedIn(site.tables.signIn(isVerified: false).signed)
        try expect(pair, verified: false, scope: "api sync", isForSync: true)
        try expect(client.refreshed(pair.refresh), verified: false, scope: "api sync", isForSync: true)
    }

    @Test("deny mints nothing, ends nothing, and the same refresh token works after the verification")
    func deny() throws {
        let site = try Site(settings: ["SALLYPORT_VERIFIED_GATE": "deny"])
        let client = try AuthClient(site.serve())
        let session = try site.tables.signIn()
        let pair = try client.signedIn(session.signed)
        try site.tables.setVerified(false, userID: session.userID)
        for answer in [
            try client.refresh(pair.refresh), try client.exchange(session.signed),
            try client.exchange(session.signed, installation: nil),
            try client.get("/auth/token", bearer: session.signed),
        ] {
            try expectRefusal(answer, 403, "access_denied", "identity_unverified", "verify")
            #expect(answer.json?["proof"] == nil && answer.field("www-authenticate") == nil)
        }
        try site.tables.setVerified(true, userID: session.userID)
        let next = try client.refreshed(pair.refresh)
        try expect(next, verified: true, scope: "api sync", isForSync: true)
        #expect(try next.generation == 2)
    }

    @Test("the operator's claims are in every token; reserved names are dropped and logged, a bad value is 503")
    func claims() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        func replace(_ body: String) throws {
            try site.database.sql(
                "CREATE OR REPLACE FUNCTION sallyport.custom_claims(user_id text, device_id uuid) RETURNS jsonb "
                    + "LANGUAGE sql AS $$ SELECT \(body) $$")
        }
        try replace(
            "jsonb_build_object('team', 'blue', 'u', user_id, 'd', device_id, 'sub', 'mallory', 'act', 'x', "
                + "'sallyport_x', 1, 'parameters', 'no object', 'nbf', 9999999999)")
        let session = try site.tables.signIn()
        let pair = try client.signedIn(session.signed)
        let deviceless = try client.exchange(session.signed, installation: nil).text("access_token")
        for (claims, device) in [
            (try pair.accessClaims, pair.deviceID as String?),
            (try client.refreshed(pair.refresh).accessClaims, pair.deviceID),
            (try TokenPair.claims(deviceless), nil),
        ] {
            #expect(claims["team"] == "blue" && claims["u"] == .string(session.userID))
            #expect(claims["d"] == device.map { .string($0) } ?? .null)
            #expect(claims["sub"] == .string(session.userID))
            for name in ["act", "sallyport_x", "parameters", "nbf"] { #expect(claims[name] == nil, "\(name)") }
        }
        #expect(client.server.log.contains("custom_claims returned reserved names"))
        try replace(#"'{"parameters":{"region":"north"}}'::jsonb"#)
        let third = try client.signedIn(session.signed)
        #expect(try third.accessClaims["parameters"] == ["region": "north"])
        try replace("'[]'::jsonb")
        try expectUnavailable(client.refresh(third.refresh), among: ["dependency"])
        try replace("'{}'::jsonb")
        #expect(try client.refreshed(third.refresh).generation == 2)
    }
}
