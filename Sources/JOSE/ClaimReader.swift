import JSON
import Primitives

/// The checks of a token's registered claims, one each. Source: RFC 7519 §4.1.
struct ClaimReader {
    private let claims: JSONObject

    init(_ claims: JSONObject) {
        self.claims = claims
    }

    /// One text, equal as a whole: an array (CVE-2025-30144) or a part of it (CVE-2024-53861) is no match.
    func issuer(among issuers: [String]) throws(JOSEError) -> String {
        guard let issuer = claims["iss"]?.stringValue, issuers.contains(where: { areIdentical($0, issuer) })
        else { throw .issuerMismatch }
        return issuer
    }

    /// A text or a list of texts, of which one must be ours.
    func audiences(holdingOneOf ours: [String]) throws(JOSEError) -> [String] {
        let audiences: [String]
        switch claims["aud"] {
        case .string(let text)?: audiences = [text]
        case .array(let elements)?:
            audiences = elements.compactMap(\.stringValue)
            guard audiences.count == elements.count else { throw .claimInvalid("aud") }
        default: throw .audienceMismatch
        }
        guard audiences.contains(where: { audience in ours.contains { areIdentical($0, audience) } })
        else { throw .audienceMismatch }
        return audiences
    }

    func subject() throws(JOSEError) -> String {
        // NUL: Postgres holds no such text, and C readers would see another, shorter subject.
        guard let subject = claims["sub"]?.stringValue, !subject.isEmpty, !subject.utf8.contains(0)
        else { throw .claimInvalid("sub") }
        return subject
    }

    func times(policy: JWTPolicy, now: Timestamp) throws(JOSEError) -> (issuedAt: Timestamp, expiresAt: Timestamp) {
        let issuedAt = try instant("iat")
        let expiresAt = try instant("exp")
        guard issuedAt < expiresAt else { throw .claimInvalid("exp") }
        if let lifetimeMax = policy.lifetimeMax {
            guard expiresAt - issuedAt <= lifetimeMax else { throw .claimInvalid("exp") }
        }
        if claims["nbf"] != nil {
            // RFC 7519 §4.1.5
            guard try instant("nbf") <= now + policy.aheadMax else { throw .notYetValid }
        }
        guard issuedAt <= now + policy.aheadMax else { throw .notYetValid }
        // RFC 7519 §4.1.4: on or after `exp` the token is not accepted.
        guard policy.expiry == .isLeftToTheCaller || now < expiresAt + policy.leeway else { throw .expired }
        return (issuedAt, expiresAt)
    }

    /// NumericDate: seconds, perhaps with a fraction, from 1970 to 9999. Source: RFC 7519 §2.
    private func instant(_ name: String) throws(JOSEError) -> Timestamp {
        switch claims[name] {
        case .integer(let seconds)? where (0...numericDateMax).contains(seconds):
            return Timestamp(secondsSinceEpoch: seconds)
        case .number(let number)?:
            guard let seconds = number.doubleValue, seconds >= 0, seconds <= Double(numericDateMax)
            else { throw .claimInvalid(name) }
            return Timestamp(microsecondsSinceEpoch: Int64(seconds * 1_000_000))
        default: throw .claimInvalid(name)
        }
    }
}
