import Crypto
import JOSE
import JSON
import Primitives

/// The signed form of a verdict, which a client checks by a `verdict_key` that it stored.
///
/// Claims `iss, sid, device_id, reason, action, iat, jti, nonce`; no `sub`, `aud` or `exp`, so that no resource takes it
/// for an access token. `nonce` is SHA-256 of the presented token as sent: a proof cannot be replayed to another device.
enum VerdictProof {
    static let type = "verdict+jwt"

    static func signingInput(
        _ refusal: Refusal, presented: String, kid: String, issuer: String, tokenID: String, at now: Timestamp
    ) -> [UInt8] {
        var claims: JSONObject = ["iss": .string(issuer)]
        if let sessionID = refusal.sessionID { claims["sid"] = .string(sessionID) }
        if let deviceID = refusal.deviceID { claims["device_id"] = .string(deviceID.description) }
        claims["reason"] = .string(refusal.reason.rawValue)
        claims["action"] = .string(refusal.action.rawValue)
        claims["iat"] = .integer(now.secondsSinceEpoch)
        claims["jti"] = .string(tokenID)
        claims["nonce"] = .string(Base64URL.encode(SHA256.hash(Array(presented.utf8))))
        return JWS.signingInput(header: JWTHeader(type: type, kid: kid).json, claims: claims)
    }
}

/// What makes a client believe a verdict key that it was not given at sign-in: the JWK, signed by one that it was given.
///
/// Whoever intercepts an answer could put a key of their own into it, and prove a wipe by that.
enum VerdictKeyProof {
    static let type = "verdict-key+jwt"

    static func signingInput(_ key: JWK, kid: String) -> [UInt8] {
        JWS.signingInput(header: JWTHeader(type: type, kid: kid).json, claims: key.json)
    }
}
