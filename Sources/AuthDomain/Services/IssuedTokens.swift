package import Crypto
import JOSE
package import JSON
package import Primitives

/// Tokens of ours that somebody presents as content: to revoke them, or to ask about them.
///
/// Which kind a token is, its own header says; a hint of the client's could only be wrong.
/// Source: RFC 7009 §2.1, RFC 7662 §2.1.
package struct IssuedTokens: Sendable {
    private let policy: AuthPolicy
    private let store: any SessionStore
    private let gate: AccessGate
    private let keys: any KeyringSource
    private let sealing: KeyEncryptionKeys
    private let turns: any WriteTurns
    private let clock: any WallClock

    package init(
        policy: AuthPolicy, store: any SessionStore, gate: AccessGate, keys: any KeyringSource,
        sealing: KeyEncryptionKeys, turns: any WriteTurns = NoTurns(), clock: any WallClock
    ) {
        self.policy = policy
        self.store = store
        self.gate = gate
        self.keys = keys
        self.sealing = sealing
        self.turns = turns
        self.clock = clock
    }

    private enum Found {
        case access(VerifiedJWT)
        case refresh(SignedRefresh, DeviceSession)
    }

    /// A refresh token ends its device session, whatever its generation: whoever lost the answer to the last rotation
    /// still has to be able to sign out. An access token ends alone. What is no token of ours, or is dead, is no error.
    ///
    /// - Parameter clientID: who says that the token is theirs; `nil` says nothing.
    package func revoke(_ token: String, clientID: String?) async throws(AuthFailure) {
        switch try await find(token) {
        case .access(let jwt)?:
            guard let view = try await gate.view(of: jwt), view.isOwned(by: jwt.subject),
                let tokenID = jwt.claims["jti"]?.stringValue
            else { return }
            try check(clientID, issuedTo: view.deviceSession?.clientID ?? jwt.claims["client_id"]?.stringValue)
            let revoked = RevokedAccessToken(
                tokenID: tokenID, userID: jwt.subject,
                deviceID: jwt.claims["device_id"]?.stringValue.flatMap { UUID($0) },
                expiresAt: jwt.expiresAt, revokedAt: clock.now())
            let owner = WriteOwner(userID: jwt.subject, device: revoked.deviceID?.description)
            try await turns.writing(owner) { () async throws(Unavailability) in
                try await store.revokeAccessToken(revoked)
            }
        case .refresh(_, let session)?:
            try check(clientID, issuedTo: session.clientID)
            _ = try await turns.writing(session.writeOwner) { () async throws(Unavailability) in
                try await store.endSession(session.id, reason: .signedOut, ifGeneration: nil, at: clock.now())
            }
        case nil: return
        }
    }

    /// What a live token says; `nil` for everything else, without a reason: it is none of the caller's business.
    package func inspect(_ token: String) async throws(AuthFailure) -> LiveToken? {
        switch try await find(token) {
        case .access(let jwt)?:
            guard let view = try await gate.view(of: jwt), view.isLive, view.isOwned(by: jwt.subject) else {
                return nil
            }
            return LiveToken(kind: .access, claims: jwt.claims)
        case .refresh(let presented, let session)?:
            guard session.deviceStatus == .active, try canRefresh(presented, session) else { return nil }
            return LiveToken(kind: .refresh, claims: claims(presented, session))
        case nil: return nil
        }
    }

    /// Without a key: whoever presents it with the key of its rotation has the successor already.
    private func canRefresh(_ presented: SignedRefresh, _ session: DeviceSession) throws(AuthFailure) -> Bool {
        let decision = RefreshDecision.decide(
            presented: presented.generation, tokenExpiresAt: presented.end(by: session.current), keyHash: nil,
            state: session.rotation, windows: policy.windows, at: clock.now())
        switch decision {
        case .rotate, .replay: return true
        case .ended, .stale: return false
        case .expired, .reused:
            if clock.isInDoubt { throw .unavailable(.busy) }
            return false
        }
    }

    private func claims(_ presented: SignedRefresh, _ session: DeviceSession) -> JSONObject {
        [
            "iss": .string(policy.issuer), "sub": .string(session.userID), "aud": .string(policy.tokenEndpoint),
            "exp": .integer(presented.end(by: session.current).secondsSinceEpoch),
            "client_id": .string(session.clientID),
            "scope": .string(session.scopes.description), "sid": .string(session.id.description),
            "device_id": .string(session.deviceID.description),
        ]
    }

    private func find(_ token: String) async throws(AuthFailure) -> Found? {
        guard let jws = try? UnverifiedJWS(token) else { return nil }
        if jws.type.map({ areIdentical($0, RefreshToken.type) }) ?? false { return try await refresh(jws) }
        do throws(AuthFailure) {
            return .access(try await gate.verify(token))
        } catch .refused {
            return nil
        }
    }

    private func refresh(_ jws: UnverifiedJWS) async throws(AuthFailure) -> Found? {
        guard let presented = try await signed(jws) else { return nil }
        let view = try await available { () async throws(Unavailability) in
            try await store.accessView(
                sessionID: presented.sessionID.description, deviceID: nil, tokenID: presented.tokenID)
        }
        guard let session = view.deviceSession, areIdentical(session.userID, presented.userID) else { return nil }
        let secret: Secret<[UInt8]>
        do throws(CryptoError) {
            secret = try sealing.open(session.sealedSecret, context: TokenService.secretContext(session.id))
        } catch {
            throw .unavailable(.misconfigured)
        }
        return presented.isDerived(from: secret) ? .refresh(presented, session) : nil
    }

    private func signed(_ jws: UnverifiedJWS) async throws(AuthFailure) -> SignedRefresh? {
        var keyring = try await available { () async throws(Unavailability) in try await keys.current() }
        for isFirst in [true, false] {
            do throws(JOSEError) {
                return try SignedRefresh(jws, keyring: keyring, policy: policy, at: clock.now())
            } catch {
                guard isFirst, case .unknownKey = error else { return nil }
            }
            keyring = try await available { () async throws(Unavailability) in try await keys.reload() }
        }
        return nil
    }

    /// RFC 7009 §2.1: a token of another client is not this one's to revoke.
    private func check(_ clientID: String?, issuedTo owner: String?) throws(AuthFailure) {
        guard let clientID, owner.map({ !areIdentical($0, clientID) }) ?? true else { return }
        let action = policy.verdictPolicy.action(for: .tokenForeign, isDeviceHeld: false)
        throw .refused(Refusal(.tokenForeign, action: action))
    }
}

/// A token that would be accepted at this moment.
package struct LiveToken: Sendable {
    package enum Kind: Sendable {
        case access, refresh
    }

    package let kind: Kind
    package let claims: JSONObject
}
