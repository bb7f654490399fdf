import JSON
package import Primitives

/// `typ` of access tokens: what RFC 9068 §2.1 demands, and what verifiers take that know no other.
package enum AccessTokenType: String, Sendable, CaseIterable {
    case atJWT = "at+jwt"
    case jwt = "JWT"
}

/// What an access token is to say; becomes claims in one place (contract 2.1, RFC 9068 §2.2).
package struct AccessGrant: Sendable {
    package let subject: String
    package let sessionID: String
    package let deviceID: UUID?
    package let clientID: String
    package let scopes: ScopeSet
    package let audiences: [String]
    package let isVerified: Bool
    package let authTime: Timestamp
    package let amr: [String]
    /// The impersonating user (RFC 8693 §4.1).
    package let actor: String?
    package let lifetime: Duration
    package let custom: CustomClaims

    func expiresAt(from now: Timestamp) -> Timestamp { now.wholeSeconds + lifetime }

    func claims(issuer: String, tokenID: String, at now: Timestamp) -> JSONObject {
        var claims: JSONObject = [
            "iss": .string(issuer),
            "sub": .string(subject),
            "aud": .array(audiences.map(JSONValue.string)),
            "iat": .integer(now.secondsSinceEpoch),
            "exp": .integer(expiresAt(from: now).secondsSinceEpoch),
            "jti": .string(tokenID),
            "client_id": .string(clientID),
            "scope": .string(scopes.description),
            "sid": .string(sessionID),
        ]
        if let deviceID { claims["device_id"] = .string(deviceID.description) }
        claims["email_verified"] = .bool(isVerified)
        claims["auth_time"] = .integer(authTime.secondsSinceEpoch)
        claims["amr"] = .array(amr.map(JSONValue.string))
        if let actor { claims["act"] = ["sub": .string(actor)] }
        for (name, value) in custom.members.members { claims[name] = value }
        return claims
    }
}
