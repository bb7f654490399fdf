import AuthDomain
import Foundation
import JOSE
import JSON
import Primitives
import Testing

/// The case bank of tokens under the policy of our own routes, beside the bank's own profile, which has to take tokens
/// of others too. JOSETests hold the verifier to the profile; here the two rows are compared.
@Suite("The product's policy for tokens")
struct ProductPolicyTests {
    private let now: Timestamp
    private let profile: JWTPolicy
    private let product: JWTPolicy
    private let keys: JWKSet

    init() throws {
        let document = try Self.document("policy")
        now = Timestamp(secondsSinceEpoch: try #require(document["now"]?.integerValue))
        let access = try #require(document["profiles"]?.objectValue?["access"]?.objectValue)
        keys = try JWKSet.parse(try #require(access["jwks"]).encoded())
        let issuer = try #require(access["issuer"]?.stringValue)
        let audiences = try #require(access["audiences"]?.arrayValue).compactMap(\.stringValue)
        profile = JWTPolicy(
            type: .oneOfOrMissing(["JWT", "at+jwt"]), issuers: [issuer], audiences: audiences,
            lifetimeMax: .seconds(try #require(access["max_lifetime_s"]?.integerValue)))
        product =
            AuthPolicy(
                issuer: issuer, audiences: audiences, scopes: ScopeSet(["api"]),
                gate: VerifiedGate(mode: .claim, scopes: ScopeSet([]), audiences: []), accessLifetime: .minutes(30),
                refreshLifetime: .days(30), sessionMaxAge: .days(90),
                windows: RotationWindows(replay: .days(7), concurrency: .seconds(10)), offlineWrite: .days(7),
                verdictPolicy: .careful
            ).accessTokens
    }

    private static func document(_ name: String) throws -> JSONObject {
        let url = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "JOSETests/Fixtures/Cases/\(name).json")
        return try #require(try JSONParser.parse(Array(try Data(contentsOf: url))).objectValue)
    }

    private func result(_ token: String, _ policy: JWTPolicy) -> JOSEError? {
        do throws(JOSEError) {
            _ = try JWTVerifier.verify(UnverifiedJWS(token), keys: { keys[$0] }, policy: policy, now: now)
            return nil
        } catch {
            return error
        }
    }

    @Test("it differs from the profile in the type, in the leeway past the end, and in tokens that are a little ahead")
    func stricter() throws {
        var (both, neither, stricter, looser) = (0, 0, [String: JOSEError](), Set<String>())
        for group in ["alg", "base64url", "claims", "header", "shape", "signature", "time"] {
            for item in try #require(try Self.document(group)["cases"]?.arrayValue).compactMap(\.objectValue) {
                let id = try #require(item["id"]?.stringValue)
                let parts = item["token_parts"]?.arrayValue?.compactMap(\.stringValue)
                let token = try #require(item["token"]?.stringValue ?? parts?.joined())
                switch (result(token, profile), result(token, product)) {
                case (nil, nil): both += 1
                case (nil, let error?): stricter[id] = error
                case (_?, nil): looser.insert(id)
                case (_?, _?): neither += 1
                }
            }
        }
        #expect(both + neither + stricter.count + looser.count == 165)
        #expect(neither == 151)
        // Without a type. `JWT` passes: the keys that sign access tokens sign nothing else.
        #expect(stricter == ["header-022": .typeMismatch, "time-002": .expired])
        // Issued up to five minutes ahead: our clock may be wrong, and the caller answers 503. Contract section 3.1.
        #expect(looser == ["time-025", "time-028"])
        #expect(both == 10)
    }
}
