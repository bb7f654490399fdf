import Crypto
import JOSE
import JSON
import Primitives
import Testing

@Suite("Case bank of tokens")
struct CaseBankTests {
    private let now: Timestamp
    private let policy: JWTPolicy
    private let keys: JWKSet

    init() throws {
        let document = try Fixture.document("Cases/policy.json")
        now = Timestamp(secondsSinceEpoch: try #require(document["now"]?.integerValue))
        let profile = try document.object("profiles").object("access")
        keys = try JWKSet.parse(try profile.object("jwks").encoded())
        // The profile allows a missing type, written as null.
        #expect(profile["typ_allowed"]?.arrayValue?.contains(.null) == true)
        policy = JWTPolicy(
            type: .oneOfOrMissing(try profile.texts("typ_allowed")),
            issuers: [try profile.text("issuer")],
            audiences: try profile.texts("audiences"),
            leeway: .seconds(try #require(profile["leeway_s"]?.integerValue)),
            lifetimeMax: .seconds(try #require(profile["max_lifetime_s"]?.integerValue)),
            requiredClaims: try profile.texts("required_claims"))
    }

    @Test(
        "every token is accepted or refused as its case says",
        arguments: [
            ("alg", 0, 24), ("base64url", 0, 9), ("claims", 1, 33), ("header", 2, 30), ("shape", 4, 20),
            ("signature", 1, 19), ("time", 4, 18),
        ])
    func tokens(group: String, acceptedCount: Int, refusedCount: Int) throws {
        #expect(keys.keys.count == 2)
        var accepted = 0
        var refused = 0
        for item in try Fixture.cases(group) {
            let id = try item.text("id")
            let title = "\(id): \(try item.text("title"))"
            #expect(try item.text("profile") == "access", "\(id)")
            let token = try item["token"]?.stringValue ?? item.texts("token_parts").joined()
            let result = Result { try verify(token) }
            switch try item.text("expect") {
            case "accept":
                accepted += 1
                #expect(throws: Never.self, "\(title)") { try result.get() }
            case "reject":
                refused += 1
                #expect(throws: JOSEError.self, "\(title)") { try result.get() }
            case let other:
                Issue.record("\(id) expects \(other), which is not known")
            }
        }
        #expect(accepted == acceptedCount)
        #expect(refused == refusedCount)
    }

    @Test(
        "the refusal names the decision, and not another one that also fits",
        arguments: [
            ("alg", "alg-015", JOSEError.algorithmNotAllowed), ("alg", "alg-002", .malformed),
            ("header", "header-028", .unknownKey(kid: "nope")), ("header", "header-025", .typeMismatch),
            ("header", "header-021", .typeMismatch), ("header", "header-009", .malformed),
            ("signature", "signature-001", .signatureInvalid), ("signature", "signature-018", .signatureInvalid),
            ("claims", "claims-002", .issuerMismatch), ("claims", "claims-007", .issuerMismatch),
            ("claims", "claims-019", .audienceMismatch), ("claims", "claims-048", .audienceMismatch),
            ("claims", "claims-016", .claimInvalid("aud")), ("claims", "claims-022", .claimInvalid("sub")),
            ("claims", "claims-028", .malformed), ("time", "time-003", .expired), ("time", "time-025", .notYetValid),
            ("time", "time-028", .notYetValid), ("time", "time-015", .claimInvalid("exp")),
            ("time", "time-029", .claimInvalid("iat")),
        ] as [(String, String, JOSEError)])
    func reasons(group: String, id: String, reason: JOSEError) throws {
        let item = try #require(try Fixture.cases(group).first { $0["id"]?.stringValue == id })
        #expect(throws: reason) { try verify(try item.text("token")) }
    }

    private func verify(_ token: String) throws(JOSEError) -> VerifiedJWT {
        try JWTVerifier.verify(try UnverifiedJWS(token), keys: { keys[$0] }, policy: policy, now: now)
    }
}

@Suite("Case bank of key sets")
struct KeySetCaseTests {
    @Test("of every foreign key set exactly the usable keys are taken")
    func sets() throws {
        var refused = 0
        var empty = 0
        var read = 0
        for item in try Fixture.cases("jwks") {
            let id = try item.text("id")
            let title = "\(id): \(try item.text("title"))"
            let document = Array(try item.text("document").utf8)
            switch item["expect"] {
            case "reject"?:
                refused += 1
                #expect(throws: JOSEError.malformed, "\(id)") { try JWKSet.parse(document) }
            case "keep-cache"?:
                // Whoever fetched it sees that it is empty and keeps the last good set.
                empty += 1
                #expect(try JWKSet.parse(document).isEmpty, "\(id)")
            case .object(let expectation)?:
                read += 1
                #expect(
                    try JWKSet.parse(document).kids == expectation.texts("usable_kids"),
                    "\(title)")
            default:
                Issue.record("\(id) has an expectation that is not known")
            }
        }
        #expect([refused, empty, read] == [2, 1, 15])
    }

    @Test("a key of the bank has the thumbprint that the bank gives it")
    func thumbprints() throws {
        // The other cases of this group are rules for a running server.
        let cases = try Fixture.cases("publish").filter { $0["profile"] == "thumbprint" }
        #expect(cases.count == 2)
        for item in cases {
            let expected = try item.object("expect").text("thumbprint")
            var jwk = try item.object("jwk")
            #expect(JWKThumbprint.of(jwk) == expected)
            jwk["kid"] = "any"
            let set = try JWKSet.parse(JSONObject([("keys", [.object(jwk)])]).encoded())
            #expect(set.keys.map { JWK($0.key).kid } == [expected])
        }
    }
}
