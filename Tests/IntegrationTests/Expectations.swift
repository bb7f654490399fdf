import AuthTesting
import Crypto
import JOSE
import JSON
import Primitives
import Testing

/// The access token as a stranger proves it: by the published keys alone.
func verified(
    _ access: String, by keySet: HTTPAnswer, audience: String = "powersync", at now: Timestamp = BetterAuthTables.now
) throws -> VerifiedJWT {
    let keys = try JWKSet.parse(keySet.body)
    return try JWTVerifier.verify(
        UnverifiedJWS(access), keys: { keys[$0] },
        policy: JWTPolicy(type: .oneOf(["at+jwt"]), issuers: [Site.issuer], audiences: [audience]), now: now)
}

/// A refusal to the letter, in the one shape.
@discardableResult
func expectRefusal(
    _ answer: HTTPAnswer, _ status: Int, _ error: String, _ reason: String, _ action: String,
    at location: SourceLocation = #_sourceLocation
) throws -> JSONObject {
    #expect(answer.status == status, "\(answer)", sourceLocation: location)
    #expect(try answer.text("error") == error, sourceLocation: location)
    #expect(try answer.text("error_reason") == reason, sourceLocation: location)
    #expect(try answer.text("client_action") == action, sourceLocation: location)
    #expect(answer.field("cache-control") == "no-store", sourceLocation: location)
    #expect(answer.field("content-type") == "application/json", sourceLocation: location)
    return try #require(answer.json, sourceLocation: location)
}

/// 503 that says when to come back, and nothing of the credential.
func expectUnavailable(
    _ answer: HTTPAnswer, among reasons: Set<String>, at location: SourceLocation = #_sourceLocation
) throws {
    #expect(answer.status == 503, "\(answer)", sourceLocation: location)
    #expect(try answer.text("error") == "temporarily_unavailable", sourceLocation: location)
    #expect(reasons.contains(try answer.text("error_reason")), "\(answer)", sourceLocation: location)
    #expect(try answer.text("client_action") == "retry", sourceLocation: location)
    let seconds = try answer.integer("retry_after")
    #expect(seconds >= 1 && answer.field("retry-after") == String(seconds), sourceLocation: location)
}

/// The proof of a refusal: by the verdict key that the client stored at sign-in, bound to what was presented.
func expectProof(
    of answer: HTTPAnswer, presented: String, storedKey: JSONValue?, at location: SourceLocation = #_sourceLocation
) throws {
    let jws = try UnverifiedJWS(answer.text("proof"))
    let set: JSONObject = ["keys": [try #require(storedKey, sourceLocation: location)]]
    let keys = try JWKSet.parse(set.encoded())
    try jws.verifySignature { keys[$0] }
    #expect(jws.type == "verdict+jwt", sourceLocation: location)
    let claims = try #require(try JSONParser.parse(jws.payload).objectValue, sourceLocation: location)
    #expect(claims["iss"] == .string(Site.issuer), sourceLocation: location)
    #expect(claims["reason"]?.stringValue == (try answer.text("error_reason")), sourceLocation: location)
    #expect(claims["action"]?.stringValue == (try answer.text("client_action")), sourceLocation: location)
    let nonce = Base64URL.encode(SHA256.hash(Array(presented.utf8)))
    #expect(claims["nonce"] == .string(nonce), sourceLocation: location)
}
