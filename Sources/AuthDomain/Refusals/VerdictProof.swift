import Crypto
import JOSE
import JSON
import Primitives

/// The signed form of a verdict, which a client checks by the `verdict_key` that it stored at sign-in.
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
