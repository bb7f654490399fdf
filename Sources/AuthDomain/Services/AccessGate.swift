import JOSE
import JSON
package import Primitives

/// Proves access tokens at our own routes: signature, and then session, device and user in the database, each time.
package struct AccessGate: Sendable {
    let policy: AuthPolicy
    private let store: any SessionStore
    private let keys: any KeyringSource
    private let clock: any WallClock
    private let throttle: any SessionThrottle

    package init(
        policy: AuthPolicy, store: any SessionStore, keys: any KeyringSource, clock: any WallClock,
        throttle: any SessionThrottle = NoThrottle()
    ) {
        self.policy = policy
        self.store = store
        self.keys = keys
        self.clock = clock
        self.throttle = throttle
    }

    package func authenticate(_ token: String) async throws(AuthFailure) -> Caller {
        let verified = try await verify(token)
        // Good in a moment, or at the server that it came from.
        guard verified.issuedAt <= clock.now() + Limits.clockError else { throw .unavailable(.busy) }
        guard let sessionID = verified.claims["sid"]?.stringValue else { throw refused(.tokenMalformed) }
        try throttle.admit(sessionID)
        guard let view = try await view(of: verified) else { throw refused(.tokenMalformed) }
        guard view.isOwned(by: verified.subject) else {
            throw refused(view.bond == nil ? .accessRevoked : .tokenForeign)
        }
        guard view.isLive else { throw refused(.accessRevoked) }
        guard let caller = Caller(verified, view) else { throw refused(.tokenMalformed) }
        return caller
    }

    package func requireFreshProof(_ caller: Caller) throws(AuthFailure) {
        guard caller.hasFreshProof(at: clock.now()) else { throw refused(.stepUpRequired) }
    }

    /// What the database knows of a token; `nil` where it does not say which session and which token it is.
    func view(of token: VerifiedJWT) async throws(AuthFailure) -> AccessView? {
        guard let sessionID = token.claims["sid"]?.stringValue, let tokenID = token.claims["jti"]?.stringValue else {
            return nil
        }
        let deviceID = token.claims["device_id"]?.stringValue.flatMap { UUID($0) }
        return try await available { () async throws(Unavailability) in
            try await store.accessView(sessionID: sessionID, deviceID: deviceID, tokenID: tokenID)
        }
    }

    /// Signature, type, issuer, audience and times; the database is asked only for a key that is not in memory.
    func verify(_ token: String) async throws(AuthFailure) -> VerifiedJWT {
        var keyring = try await available { () async throws(Unavailability) in try await keys.current() }
        var result = verified(token, keyring)
        if case .failure(.unknownKey) = result {
            keyring = try await available { () async throws(Unavailability) in try await keys.reload() }
            result = verified(token, keyring)
        }
        switch result {
        case .success(let jwt): return jwt
        // Not proved, but nothing rests on it: whoever was away while a key went, or has one of a key that leaked, is to
        // ask for another token and not for a sign-in.
        case .failure(.unknownKey) where isDestroyedKey(of: token, keyring): throw refused(.accessRevoked)
        case .failure(.expired) where clock.isInDoubt: throw .unavailable(.busy)
        case .failure(let error): throw refused(error.refusalReason)
        }
    }

    private func isDestroyedKey(of token: String, _ keyring: Keyring) -> Bool {
        (try? UnverifiedJWS(token).kid).map { keyring.isDestroyed($0) } ?? false
    }

    private func verified(_ token: String, _ keyring: Keyring) -> Result<VerifiedJWT, JOSEError> {
        Result { () throws(JOSEError) in
            try JWTVerifier.verify(
                UnverifiedJWS(token), keys: keyring.accessKey, policy: policy.accessTokens, now: clock.now())
        }
    }

    private func refused(_ reason: RefusalReason) -> AuthFailure {
        .refused(Refusal(reason, action: policy.verdictPolicy.action(for: reason, isDeviceHeld: false)))
    }
}
