import AuthDomain
import AuthTesting
import JSON
import Primitives
import Testing

@Suite("Unverified users")
struct UnverifiedUserTests {
    private func claims(_ answer: TokenAnswer) throws -> JSONObject { try DecodedToken(answer.accessToken).claims }

    @Test("mode 'scopes' withholds the gated scopes and audiences until the refresh after the verification")
    func scopes() async throws {
        let stack = TokenStack()
        stack.store.putUser("ada", isVerified: false)
        let first = try await stack.exchange()
        #expect(first.scopes == ScopeSet(["api"]))
        #expect(try claims(first)["aud"] == ["https://auth.example.com"])
        #expect(try claims(first)["email_verified"] == false)
        stack.store.putUser("ada", isVerified: true)
        let second = try await stack.refresh(try first.refreshToken)
        #expect(second.scopes == ScopeSet(["api", "sync"]))
        #expect(try claims(second)["aud"] == ["https://auth.example.com", "powersync"])
        #expect(try claims(second)["email_verified"] == true)
    }

    @Test("mode 'claim' only says so")
    func claim() async throws {
        let stack = TokenStack { $0.gate = VerifiedGate(mode: .claim, scopes: $0.scopes, audiences: $0.audiences) }
        stack.store.putUser("ada", isVerified: false)
        let answer = try await stack.exchange()
        #expect(answer.scopes == ScopeSet(["api", "sync"]))
        #expect(try claims(answer)["email_verified"] == false)
    }

    @Test("every way to a token withholds: exchange with and without a device, refresh, GET, all of them narrowed too")
    func everyWay() async throws {
        let stack = TokenStack { $0.audiences = ["https://api.example.com", "powersync"] }
        stack.store.putUser("ada", isVerified: true)
        let whole = try await stack.exchange()
        #expect(try claims(whole)["aud"] == ["https://api.example.com", "powersync"])
        func answers(_ scopes: ScopeSet?) async throws -> [TokenAnswer] {
            let device = try await stack.exchange(scopes: scopes)
            return [
                device, try await stack.exchange(installation: nil, scopes: scopes),
                try await stack.refresh(try device.refreshToken, scopes: scopes),
                try await stack.accessToken(scopes: scopes),
                try await stack.accessToken(installation: TokenStack.installation, scopes: scopes),
            ]
        }
        let narrowed = try await answers(ScopeSet(["api"]))
        stack.store.putUser("ada", isVerified: false)
        for answer in try await narrowed + answers(nil) + answers(ScopeSet(["api"])) {
            #expect(answer.scopes == ScopeSet(["api"]))
            #expect(try claims(answer)["aud"] == ["https://api.example.com"])
        }
        let refreshed = try await stack.refresh(try whole.refreshToken)
        #expect(try claims(refreshed)["aud"] == ["https://api.example.com"])
    }

    @Test("a token that carries the issuer alone passes our own routes, where the issuer is no audience")
    func issuerAlone() async throws {
        let stack = TokenStack { $0.audiences = ["powersync"] }
        stack.store.putUser("ada", isVerified: false)
        let answer = try await stack.exchange()
        #expect(try claims(answer)["aud"] == ["https://auth.example.com"])
        _ = try await stack.gate.authenticate(answer.accessToken)
    }

    @Test("mode 'deny' answers verify, moves nothing and never locks", arguments: VerdictPolicy.allCases)
    func deny(policy: VerdictPolicy) async throws {
        let stack = TokenStack {
            $0.gate = VerifiedGate(mode: .deny, scopes: ScopeSet([]), audiences: [])
            $0.verdictPolicy = policy
        }
        let first = try await stack.exchange()
        stack.store.putUser("ada", isVerified: false)
        let refused = [
            try await refusal { () async throws(AuthFailure) in try await stack.exchange() },
            try await refusal { () async throws(AuthFailure) in try await stack.accessToken() },
            try await refusal { () async throws(AuthFailure) in try await stack.refresh(first.refresh?.token ?? "") },
        ]
        for verdict in refused {
            #expect(verdict.reason == .identityUnverified)
            #expect(verdict.action == .verify)
            #expect(verdict.proof == nil)
        }
        #expect(try stack.generation(first) == 1)
        stack.store.putUser("ada", isVerified: true)
        _ = try await stack.refresh(try first.refreshToken)
    }

    @Test("asking for gated scopes alone is verify, not an empty token")
    func nothingLeft() async throws {
        let stack = TokenStack()
        stack.store.putUser("ada", isVerified: false)
        let verdict = try await refusal { () async throws(AuthFailure) in
            try await stack.exchange(scopes: ScopeSet(["sync"]))
        }
        #expect(verdict.reason == .identityUnverified)
        #expect(stack.store.deviceSessions(of: "ada").isEmpty)
    }
}

@Suite("Custom claims")
struct CustomClaimsTests {
    private func claims(_ json: String) throws -> CustomClaims { try CustomClaims(json: Array(json.utf8)) }

    @Test(
        "the operator's names pass as they are",
        arguments: [
            #"{"role":"admin"}"#, #"{"a":{"b":[1,2.5,null,true]}}"#, #"{"azp":"x","name":"y"}"#, #"{"parameters":{}}"#,
            #"{"parameters":{"team":"t"}}"#, #"{"Sub":"x","ISS":"y"}"#, #"{"sally":1,"":2}"#, "{}",
        ])
    func kept(json: String) throws {
        let claims = try claims(json)
        #expect(claims.dropped.isEmpty)
        #expect(claims.members == (try JSONParser.parse(Array(json.utf8))).objectValue)
    }

    @Test(
        "reserved names are dropped and named",
        arguments: [
            "iss", "sub", "aud", "exp", "nbf", "iat", "jti", "client_id", "scope", "sid", "device_id", "email_verified",
            "auth_time", "amr", "acr", "act", "may_act", "cnf", "sallyport", "sallyport_x", "sallyport.y",
            "sallyport\u{301}",
        ])
    func reserved(name: String) throws {
        let claims = try claims(#"{"a":1,"\#(name)":"x","b":2}"#)
        #expect(claims.members == ["a": 1, "b": 2])
        #expect(claims.dropped == [name])
    }

    @Test(
        "parameters that are no object are dropped: PowerSync would refuse the token",
        arguments: [
            "null", "1", "\"x\"", "[]", "[{}]", "true",
        ])
    func parameters(json: String) throws {
        #expect(try claims(#"{"parameters":\#(json)}"#).dropped == ["parameters"])
    }

    @Test("2 KiB pass, one byte more does not; reserved names count")
    func size() throws {
        func text(_ bytes: Int, name: String) -> String {
            #"{"\#(name)":""# + String(repeating: "x", count: bytes - name.utf8.count - 7) + #""}"#
        }
        #expect(text(2_048, name: "a").utf8.count == 2_048)
        #expect(try claims(text(2_048, name: "a")).members.count == 1)
        for name in ["a", "sub"] {
            #expect(throws: CustomClaims.Failure.tooLarge) { try claims(text(2_049, name: name)) }
        }
    }

    @Test(
        "anything but one object is a fault",
        arguments: ["", "null", "[]", "1", "\"{}\"", "{", "{}{}", #"{"a":1,"a":2}"#])
    func noObject(json: String) {
        #expect(throws: CustomClaims.Failure.notAnObject) { try claims(json) }
    }

    @Test("they are in every access token, asked for with user and device, and change nothing of ours")
    func minted() async throws {
        let stack = TokenStack()
        stack.store.setCustomClaims(#"{"sub":"root","team":"t","parameters":{"x":1},"exp":1,"device_id":"d","act":{}}"#)
        var answers = [try await stack.exchange(), try await stack.exchange(installation: nil)]
        answers.append(try await stack.refresh(try answers[0].refreshToken))
        for answer in answers {
            let claims = try DecodedToken(answer.accessToken).claims
            #expect(claims["team"] == "t")
            #expect(claims["parameters"] == ["x": 1])
            #expect(claims["sub"] == "ada")
            #expect(claims["act"] == nil)
            #expect(claims["exp"] == .integer(answer.accessExpiresAt.secondsSinceEpoch))
            #expect(claims["device_id"]?.stringValue == answer.deviceID?.description)
        }
        let asked = stack.store.claimsAskedFor
        #expect(asked.map(\.userID) == ["ada", "ada", "ada"])
        #expect(asked.map(\.deviceID) == [answers[0].deviceID, nil, answers[0].deviceID])
        #expect(try DecodedToken(answers[2].refreshToken).claims["team"] == nil)
    }
}
