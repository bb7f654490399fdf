import Crypto
import JOSE
import JSON
import Primitives
import Testing

@Suite("JWT verification")
struct JWTVerifierTests {
    private static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
    private static let key = JWK(TestKeys.signing.publicKey)
    private static let policy = JWTPolicy(
        type: .oneOf(["at+jwt"]), issuers: ["https://a.example"], audiences: ["sync", "api"],
        lifetimeMax: .seconds(3600), requiredClaims: ["sid"])
    private static let claims: JSONObject = [
        "iss": "https://a.example", "sub": "u", "aud": ["api", "other"], "iat": 1_799_999_990, "exp": 1_800_000_890,
        "sid": "s",
    ]

    private func token(
        _ claims: JSONObject = Self.claims, header: JSONObject = JWTHeader(type: "at+jwt", kid: Self.key.kid).json,
        signedBy signer: SigningKey = TestKeys.signing
    ) throws -> String {
        let input = JWS.signingInput(header: header, claims: claims)
        return JWS.compact(signingInput: input, signature: try signer.sign(input))
    }

    private func verify(
        _ token: String, policy: JWTPolicy = Self.policy, now: Timestamp = Self.now
    ) throws(JOSEError) -> VerifiedJWT {
        try JWTVerifier.verify(
            try UnverifiedJWS(token), keys: { $0 == Self.key.kid ? Self.key.key : nil }, policy: policy, now: now)
    }

    /// The claims above with one changed; `nil` leaves it out.
    private func claims(_ name: String, _ value: JSONValue?) -> JSONObject {
        var claims = Self.claims
        claims[name] = value
        return claims
    }

    @Test("what was minted is verified and read")
    func roundTrip() throws {
        let jwt = try verify(try token())
        #expect(jwt.kid == Self.key.kid)
        #expect(jwt.header == ["alg": "RS256", "typ": "at+jwt", "kid": .string(Self.key.kid)])
        #expect(jwt.issuer == "https://a.example")
        #expect(jwt.subject == "u")
        #expect(jwt.audiences == ["api", "other"])
        #expect(jwt.issuedAt.secondsSinceEpoch == 1_799_999_990)
        #expect(jwt.expiresAt.secondsSinceEpoch == 1_800_000_890)
        #expect(jwt.claims == Self.claims)
        #expect("\(jwt)" == "[verified token]")
    }

    @Test("the same claims give the same token, byte for byte")
    func determinism() throws {
        #expect(try token() == token())
    }

    @Test(
        "a claim that is missing, of another type or out of reason is refused by its name",
        arguments: [
            ("iss", nil, .issuerMismatch), ("iss", "https://a.example/", .issuerMismatch),
            ("iss", ["https://a.example"], .issuerMismatch), ("iss", "HTTPS://a.example", .issuerMismatch),
            ("aud", nil, .audienceMismatch), ("aud", [], .audienceMismatch), ("aud", "ap", .audienceMismatch),
            ("aud", "api ", .audienceMismatch),
            ("aud", ["api": true], .audienceMismatch), ("aud", ["api", 1], .claimInvalid("aud")),
            ("aud", [["api"]], .claimInvalid("aud")),
            ("sub", nil, .claimInvalid("sub")), ("sub", "", .claimInvalid("sub")), ("sub", 1, .claimInvalid("sub")),
            ("sub", "u\0x", .claimInvalid("sub")), ("sid", nil, .claimInvalid("sid")),
            ("exp", nil, .claimInvalid("exp")), ("exp", "1800000890", .claimInvalid("exp")),
            ("exp", .null, .claimInvalid("exp")), ("exp", -1, .claimInvalid("exp")),
            ("exp", .integer(.max), .claimInvalid("exp")), ("exp", 1_799_999_990, .claimInvalid("exp")),
            ("exp", 1_800_003_591, .claimInvalid("exp")), ("iat", nil, .claimInvalid("iat")),
            ("iat", "1799999990", .claimInvalid("iat")), ("iat", .integer(.min), .claimInvalid("iat")),
            ("iat", 1_800_000_061, .notYetValid), ("nbf", 1_800_000_061, .notYetValid),
            ("nbf", "1", .claimInvalid("nbf")), ("nbf", .null, .claimInvalid("nbf")),
        ] as [(String, JSONValue?, JOSEError)])
    func claimRefusals(name: String, value: JSONValue?, reason: JOSEError) throws {
        let token = try token(claims(name, value))
        #expect(throws: reason) { try verify(token) }
    }

    @Test(
        "claims at their limits pass",
        arguments: [
            ("aud", "sync"), ("aud", ["sync"]), ("iat", 1_800_000_060), ("nbf", 1_800_000_060), ("nbf", 0),
            ("exp", 1_800_003_590), ("extra", ["parameters": nil]), ("sub", "u'; --"), ("sid", ""),
        ] as [(String, JSONValue)])
    func claimLimits(name: String, value: JSONValue) throws {
        let token = try token(claims(name, value))
        #expect(throws: Never.self) { try verify(token) }
    }

    @Test("an audience that only looks the same is another one")
    func canonicalEquivalence() throws {
        var policy = Self.policy
        policy.audiences = ["K"]
        let ours = try token(claims("aud", "K"))
        let lookalike = try token(claims("aud", "\u{212a}"))
        #expect(throws: Never.self) { try verify(ours, policy: policy) }
        #expect(throws: JOSEError.audienceMismatch) { try verify(lookalike, policy: policy) }
    }

    @Test("a token lives until exp and the leeway are over, and not an instant longer")
    func expiry() throws {
        let token = try token()
        let end = Timestamp(secondsSinceEpoch: 1_800_000_950)
        #expect(throws: Never.self) { try verify(token, now: end - .microseconds(1)) }
        #expect(throws: JOSEError.expired) { try verify(token, now: end) }
        var policy = Self.policy
        policy.leeway = .zero
        #expect(throws: JOSEError.expired) {
            try verify(token, policy: policy, now: Timestamp(secondsSinceEpoch: 1_800_000_890))
        }
        policy.expiry = .isLeftToTheCaller
        #expect(try verify(token, policy: policy, now: end + .days(365)).expiresAt < end)
    }

    @Test("a token that is expired and wrong is called wrong")
    func expiredComesLast() throws {
        let late = Timestamp(secondsSinceEpoch: 1_900_000_000)
        let foreign = try token(claims("aud", "foreign"))
        let forged = try token(signedBy: TestKeys.other)
        #expect(throws: JOSEError.audienceMismatch) { try verify(foreign, now: late) }
        #expect(throws: JOSEError.signatureInvalid) { try verify(forged, now: late) }
    }

    @Test("a fraction of a second in exp counts")
    func fraction() throws {
        let claims = try JSONParser.parse(
            Array(#"{"iss":"https://a.example","sub":"u","aud":"api","iat":1.8e9,"exp":1800000000.5,"sid":""}"#.utf8))
        let token = try token(try #require(claims.objectValue))
        #expect(try verify(token).expiresAt.microsecondsSinceEpoch == 1_800_000_000_500_000)
    }

    @Test(
        "the type must be one that the policy names",
        arguments: [
            (.oneOf(["at+jwt"]), "at+jwt", true), (.oneOf(["at+jwt"]), "application/at+jwt", true),
            (.oneOf(["at+jwt"]), "AT+JWT", true), (.oneOf(["at+jwt"]), "rt+jwt", false),
            (.oneOf(["at+jwt"]), "JWT", false), (.oneOf(["at+jwt"]), nil, false), (.oneOf(["at+jwt"]), "", false),
            (.oneOf(["at+jwt"]), "text/at+jwt", false), (.oneOf([]), "at+jwt", false),
            (.oneOfOrMissing(["JWT"]), nil, true), (.oneOfOrMissing(["JWT"]), "jwt", true),
            (.oneOfOrMissing(["JWT"]), "rt+jwt", false), (.any, nil, true), (.any, "anything", true),
        ] as [(JWTPolicy.TypeRule, String?, Bool)])
    func types(rule: JWTPolicy.TypeRule, type: String?, isAllowed: Bool) throws {
        var header = JWTHeader(type: "", kid: Self.key.kid).json
        header["typ"] = type.map(JSONValue.string)
        var policy = Self.policy
        policy.type = rule
        let token = try token(header: header)
        if isAllowed {
            #expect(throws: Never.self) { try verify(token, policy: policy) }
        } else {
            #expect(throws: JOSEError.typeMismatch) { try verify(token, policy: policy) }
        }
    }

    @Test("the header chooses neither the algorithm nor the key")
    func header() throws {
        let good = JWTHeader(type: "at+jwt", kid: Self.key.kid).json
        let attacker = JWK(TestKeys.other.publicKey)
        let changes: [(String, JSONValue?, JOSEError)] = [
            ("alg", "none", .algorithmNotAllowed), ("alg", "HS256", .algorithmNotAllowed),
            ("alg", "rs256", .algorithmNotAllowed), ("alg", "RS512", .algorithmNotAllowed),
            ("kid", nil, .malformed), ("kid", .string(attacker.kid), .unknownKey(kid: attacker.kid)),
            ("kid", .string(Self.key.kid.uppercased()), .unknownKey(kid: Self.key.kid.uppercased())),
            ("cty", "JWT", .typeMismatch),
        ]
        for (name, value, reason) in changes {
            var header = good
            header[name] = value
            let token = try token(header: header)
            #expect(throws: reason, "\(name)") { try verify(token) }
        }
        var embedded = good
        embedded["jwk"] = .object(attacker.json)
        embedded["jku"] = "https://attacker.example/jwks.json"
        let forged = try token(header: embedded, signedBy: TestKeys.other)
        #expect(throws: JOSEError.signatureInvalid) { try verify(forged) }
        let ours = try token(header: embedded)
        #expect(throws: Never.self, "and well signed it is no more than an unknown member") { try verify(ours) }
    }

    @Test("any one changed character is refused")
    func tampering() throws {
        let text = Array(try token().utf8)
        for index in text.indices {
            var changed = text
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(throws: JOSEError.self, "byte \(index)") { try verify(String(decoding: changed, as: UTF8.self)) }
        }
    }

    @Test("a policy without issuers or without audiences accepts nothing")
    func emptyPolicy() throws {
        let token = try token()
        var policy = Self.policy
        policy.audiences = []
        #expect(throws: JOSEError.audienceMismatch) { try verify(token, policy: policy) }
        policy.issuers = []
        #expect(throws: JOSEError.issuerMismatch) { try verify(token, policy: policy) }
    }
}
