package import Crypto
import JSON
package import Primitives

/// From an unverified JWS to a verified JWT. Source: RFC 7519 §7.2, RFC 8725 §3.
package enum JWTVerifier {
    /// The signature comes first: what the claims say of a forged token is nobody's business.
    ///
    /// - Parameter keys: the keys of this policy's issuers and of nobody else.
    /// - Throws: the first check that fails, in the order algorithm, key, signature, type, issuer, audience, subject,
    ///   required claims, times; `expired` comes last, and only for a token without another fault.
    package static func verify(
        _ jws: UnverifiedJWS, keys: (_ kid: String) -> VerificationKey?, policy: JWTPolicy, now: Timestamp
    ) throws(JOSEError) -> VerifiedJWT {
        try jws.verifySignature(algorithms: policy.algorithms, keys: keys)
        guard let kid = jws.kid else { throw .malformed }
        // RFC 7519 §5.2: a nested token has `cty`; we make and take none.
        guard jws.header["cty"] == nil else { throw .typeMismatch }
        try check(type: jws.type, against: policy.type)

        let claims = try JSONObject(untrusted: jws.payload, limits: tokenJSONLimits)
        let reader = ClaimReader(claims)
        let issuer = try reader.issuer(among: policy.issuers)
        let audiences = try reader.audiences(holdingOneOf: policy.audiences)
        let subject = try reader.subject()
        for name in policy.requiredClaims where claims[name] == nil { throw .claimInvalid(name) }
        let times = try reader.times(policy: policy, now: now)
        return VerifiedJWT(
            header: jws.header, kid: kid, issuer: issuer, subject: subject, audiences: audiences,
            issuedAt: times.issuedAt, expiresAt: times.expiresAt, claims: claims)
    }

    private static func check(type: String?, against rule: JWTPolicy.TypeRule) throws(JOSEError) {
        let allowed: [String]
        switch rule {
        case .any: return
        case .oneOf(let types): allowed = types
        case .oneOfOrMissing(let types):
            if type == nil { return }
            allowed = types
        }
        guard let type, allowed.contains(where: { areIdentical(mediaType($0), mediaType(type)) })
        else { throw .typeMismatch }
    }

    /// RFC 7515 §4.1.9: `application/` may be left out; RFC 2045 §5.1: letter case does not matter.
    private static func mediaType(_ text: String) -> String {
        let name = text.lowercased()
        return name.contains("/") ? name : "application/" + name
    }
}
