import AuthDomain
import AuthTesting
import Crypto
import JOSE
import JSON
import Primitives
import Testing

@Suite("Access gate")
struct AccessGateTests {
    private let stack = TokenStack()

    private func refused(_ token: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> [String] {
        let verdict = try await refusal(
            { () async throws(AuthFailure) in try await stack.gate.authenticate(token) },
            sourceLocation: sourceLocation)
        return [verdict.reason.rawValue, verdict.action.rawValue]
    }

    @Test("a live token of a device session says who calls")
    func caller() async throws {
        let answer = try await stack.exchange(clientID: "app-one")
        let caller = try await stack.gate.authenticate(answer.accessToken)
        #expect(caller.userID == "ada")
        #expect(caller.sessionID == answer.sessionID)
        #expect(caller.deviceID == answer.deviceID)
        #expect(caller.clientID == "app-one")
        #expect(caller.scopes == answer.scopes)
        #expect(caller.isVerified)
        #expect(!caller.isImpersonated)
        #expect(caller.deviceSession?.id == (try stack.session(answer)).id)
        #expect(caller.expiresAt == answer.accessExpiresAt)
    }

    @Test("a token without a device passes as well, and one of an unverified user")
    func otherCallers() async throws {
        let answer = try await stack.exchange(installation: nil)
        let caller = try await stack.gate.authenticate(answer.accessToken)
        #expect(caller.deviceSession == nil)
        #expect(caller.deviceID == nil)
        stack.store.putUser("ada", isVerified: false)
        let unverified = try await stack.gate.authenticate(try await stack.exchange().accessToken)
        #expect(!unverified.isVerified)
        #expect(unverified.scopes == ScopeSet(["api"]))
    }

    @Test("an expired one asks for a refresh")
    func dead() async throws {
        let tokens = [try await stack.exchange(), try await stack.exchange(installation: nil)].map(\.accessToken)
        stack.clock.advance(by: .minutes(30) - .microseconds(1))
        _ = try await stack.gate.authenticate(tokens[0])
        // Verifiers elsewhere may allow a minute; we know the clock that issued it.
        stack.clock.advance(by: .microseconds(1))
        for token in tokens { #expect(try await refused(token) == ["access_expired", "refresh"]) }
    }

    @Test(
        "what ended is refused at once",
        arguments: [
            "session", "device revoked", "device lost", "device suspended", "everything",
        ])
    func ended(what: String) async throws {
        let answer = try await stack.exchange()
        let (session, device) = (try stack.session(answer).id, try #require(answer.deviceID))
        let now = stack.clock.now()
        switch what {
        case "session": stack.store.end(session, reason: .signedOut, at: now)
        case "device revoked": stack.store.setStatus(.revoked, of: device, at: now)
        case "device lost": stack.store.setStatus(.lost, of: device, at: now)
        case "device suspended": stack.store.setStatus(.suspended, of: device, at: now)
        default: try await stack.store.endAllSessions(of: "ada", reason: .sessionRevoked, at: now)
        }
        #expect(try await refused(answer.accessToken) == ["access_revoked", "refresh"])
    }

    @Test("a token of a session without a device dies with that session, and with its bound device")
    func endedIdentitySession() async throws {
        let plain = try await stack.exchange(installation: nil)
        try await stack.store.endIdentitySession(
            accessSID: plain.sessionID, reason: .signedOut, at: stack.clock.now())
        #expect(try await refused(plain.accessToken) == ["access_revoked", "refresh"])

        stack.signIn("bob")
        let bound = try await stack.accessToken("bob", installation: TokenStack.installation)
        _ = try await stack.gate.authenticate(bound.accessToken)
        stack.store.setStatus(.revoked, of: try #require(bound.deviceID), at: stack.clock.now())
        #expect(try await refused(bound.accessToken) == ["access_revoked", "refresh"])
    }

    @Test("what is no access token of ours asks for a sign-in")
    func foreign() async throws {
        let answer = try await stack.exchange()
        let claims = try DecodedToken(answer.accessToken).claims
        func signed(
            _ claims: JSONObject, type: String = "at+jwt", by key: SigningKey = FixedKeys.signing
        ) throws -> String {
            let input = JWS.signingInput(
                header: JWTHeader(type: type, kid: JWK(key.publicKey).kid).json, claims: claims)
            return JWS.compact(signingInput: input, signature: try key.sign(input))
        }
        func changed(_ change: (inout JSONObject) -> Void) -> JSONObject {
            var claims = claims
            change(&claims)
            return claims
        }
        let malformed = [
            "", "a.b.c", try signed(claims, type: "rt+jwt"), try signed(claims, type: "verdict+jwt"),
            try signed(claims, type: "dpop+jwt"), try signed(claims, type: ""),
            try signed(changed { $0["sid"] = nil }), try signed(changed { $0["sid"] = 1 }),
            try signed(changed { $0["client_id"] = nil }), try signed(changed { $0["auth_time"] = "1" }),
        ]
        for token in malformed { #expect(try await refused(token) == ["token_malformed", "reauth"]) }
        let foreign = [
            try answer.refreshToken, try signed(claims, by: FixedKeys.foreign),
            try signed(changed { $0["iss"] = "https://auth.example.com/" }),
            try signed(changed { $0["aud"] = "other" }),
        ]
        for token in foreign { #expect(try await refused(token) == ["token_foreign", "reauth"]) }
    }

    @Test("either type of access token passes under either setting, and no other kind of token passes as JWT")
    func types() async throws {
        for type in AccessTokenType.allCases {
            let stack = TokenStack { $0.accessTokenType = type }
            let answer = try await stack.exchange()
            let header = try DecodedToken(answer.accessToken).header
            #expect(header["typ"] == .string(type.rawValue))
            let claims = try DecodedToken(answer.accessToken).claims
            for other in AccessTokenType.allCases {
                let header = JWTHeader(type: other.rawValue, kid: JWK(FixedKeys.signing.publicKey).kid).json
                let input = JWS.signingInput(header: header, claims: claims)
                let token = JWS.compact(signingInput: input, signature: try FixedKeys.signing.sign(input))
                _ = try await stack.gate.authenticate(token)
            }
            let asJWT = JWS.signingInput(
                header: JWTHeader(type: "JWT", kid: JWK(FixedKeys.refresh.publicKey).kid).json, claims: claims)
            let forged = JWS.compact(signingInput: asJWT, signature: try FixedKeys.refresh.sign(asJWT))
            for token in [try answer.refreshToken, forged] {
                let verdict = try await refusal { () async throws(AuthFailure) in
                    _ = try await stack.gate.authenticate(token)
                }
                #expect(verdict.reason == .tokenForeign)
            }
            let access = answer.accessToken
            let verdict = try await refusal { () async throws(AuthFailure) in _ = try await stack.refresh(access) }
            #expect(verdict.reason == .tokenForeign)
        }
    }

    @Test("a token by a key that another server has just published passes after a look at the keys")
    func unknownKey() async throws {
        let next = FixedKeys.ring([
            FixedKeys.pair(.access, .retired, FixedKeys.signing),
            FixedKeys.pair(.access, .current, FixedKeys.nextSigning),
            FixedKeys.pair(.refresh, .current, FixedKeys.refresh),
            FixedKeys.pair(.verdict, .current, FixedKeys.verdict),
        ])
        stack.keys.set(next)
        let answer = try await stack.exchange()
        stack.keys.set(FixedKeys.keyring)
        stack.keys.setStored(next)
        _ = try await stack.gate.authenticate(answer.accessToken)
        #expect(stack.keys.reloads == 1)
    }

    @Test(
        "a token of a key that is gone says refresh, however it went; a foreign one under no name of ours says reauth")
    func destroyedKey() async throws {
        let token = try await stack.exchange().accessToken
        let pairs = [
            FixedKeys.pair(.access, .current, FixedKeys.nextSigning),
            FixedKeys.pair(.refresh, .current, FixedKeys.refresh),
            FixedKeys.pair(.verdict, .current, FixedKeys.verdict),
        ]
        for state in [KeyState.removed, .compromised] {
            let half = PublicHalf(
                purpose: .access, state: state, jwk: JWK(FixedKeys.signing.publicKey), createdAt: FixedKeys.createdAt)
            let keyring = try #require(Keyring(pairs, publicHalves: [half], hasher: FixedKeys.hasher))
            #expect(keyring.published.count == 1)
            stack.keys.set(keyring)
            #expect(try await refused(token) == ["access_revoked", "refresh"])
        }
        stack.keys.set(FixedKeys.ring(pairs))
        #expect(try await refused(token) == ["token_foreign", "reauth"])
    }

    @Test("no outage is a refusal")
    func outages() async throws {
        let token = try await stack.exchange().accessToken
        stack.faults.fail(before: .accessView, .dependency)
        let found = await failure { () async throws(AuthFailure) in try await stack.gate.authenticate(token) }
        #expect(found == .unavailable(.dependency))
        stack.keys.set(
            FixedKeys.ring([
                FixedKeys.pair(.access, .current, FixedKeys.nextSigning),
                FixedKeys.pair(.refresh, .current, FixedKeys.refresh),
                FixedKeys.pair(.verdict, .current, FixedKeys.verdict),
            ]))
        stack.faults.fail(before: .reloadKeys, .busy)
        let unknown = await failure { () async throws(AuthFailure) in try await stack.gate.authenticate(token) }
        #expect(unknown == .unavailable(.busy))
    }

    private static let proofs: [(microsecondsSinceSignIn: Int64, isFresh: Bool)] = [
        (0, true), (299_999_999, true), (300_000_000, true), (300_000_001, false), (86_400_000_000, false),
        (-60_000_000, true), (-60_000_001, false),
    ]

    @Test("a sign-in is fresh proof for 300 s, and 60 s ahead of our clock", arguments: proofs)
    func freshProof(microseconds: Int64, isFresh: Bool) async throws {
        let start = stack.clock.now()
        stack.clock.set(start + .microseconds(microseconds))
        stack.putSession("now", of: "ada", createdAt: start)
        let caller = try await stack.gate.authenticate(try await stack.exchange("now").accessToken)
        #expect(((try? stack.gate.requireFreshProof(caller)) != nil) == isFresh)
        if !isFresh {
            let verdict = try await refusal { () async throws(AuthFailure) in try stack.gate.requireFreshProof(caller) }
            #expect(verdict.reason == .stepUpRequired)
            #expect(verdict.action == .stepUp)
        }
    }

    @Test("an impersonation is never fresh proof")
    func impersonation() async throws {
        stack.putSession("helped", of: "ada", impersonatedBy: "admin")
        let caller = try await stack.gate.authenticate(try await stack.exchange("helped").accessToken)
        #expect(caller.isImpersonated)
        #expect(throws: AuthFailure.self) { try stack.gate.requireFreshProof(caller) }
    }
}
