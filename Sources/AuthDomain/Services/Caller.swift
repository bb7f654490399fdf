import JOSE
import JSON
package import Primitives

/// Whoever presented a live access token of ours.
package struct Caller: Sendable {
    package let userID: String
    /// A device session's id, or `s_…`.
    package let sessionID: String
    /// The sign-in that the session rests on.
    package let identitySessionID: String
    package let deviceID: UUID?
    package let clientID: String
    package let scopes: ScopeSet
    package let isVerified: Bool
    package let authTime: Timestamp
    package let isImpersonated: Bool
    package let expiresAt: Timestamp
    /// `nil` for a token without a device session.
    package let deviceSession: DeviceSession?

    var writeOwner: WriteOwner { WriteOwner(userID: userID, device: deviceID?.description) }

    /// What our row knows of a device session is taken from there and not from the token.
    ///
    /// - Parameter view: of that token.
    init?(_ token: VerifiedJWT, _ view: AccessView) {
        let claims = token.claims
        guard let sessionID = claims["sid"]?.stringValue, let clientID = claims["client_id"]?.stringValue,
            let authTime = claims["auth_time"]?.integerValue, let bond = view.bond
        else { return nil }
        userID = token.subject
        self.sessionID = sessionID
        identitySessionID = bond.identitySessionID
        deviceSession = view.deviceSession
        deviceID = claims["device_id"]?.stringValue.flatMap { UUID($0) }
        self.clientID = deviceSession?.clientID ?? clientID
        scopes = claims["scope"]?.stringValue.flatMap { ScopeSet(parsing: $0) } ?? ScopeSet([])
        isVerified = claims["email_verified"]?.boolValue ?? false
        self.authTime = deviceSession?.authTime.wholeSeconds ?? Timestamp(secondsSinceEpoch: authTime)
        isImpersonated = claims["act"] != nil
        expiresAt = token.expiresAt
    }

    /// RFC 9470: whether the user proved who they are a moment ago. An impersonation never counts.
    func hasFreshProof(at now: Timestamp) -> Bool {
        !isImpersonated && now - authTime <= Limits.freshProof && authTime - now <= Limits.clockSkew
    }
}
