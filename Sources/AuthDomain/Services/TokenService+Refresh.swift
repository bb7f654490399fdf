import Crypto
import JOSE
import JSON
import Primitives

/// Contract section 2.3, as it runs: the rows themselves are in `RefreshDecision`.
extension TokenService {
    /// A refresh as it was asked for, and the outcome's name for logs and metrics.
    package struct RefreshRequest: Sendable {
        package let token: String
        package let key: IdempotencyKey?
        package let options: Options

        package init(token: String, key: IdempotencyKey?, options: Options) {
            self.token = token
            self.key = key
            self.options = options
        }
    }

    package func refresh(_ request: RefreshRequest) async throws(AuthFailure) -> TokenAnswer {
        let now = clock.now()
        let keyring = try await required()
        let (presented, keys) = try await prove(request.token, keyring: keyring, at: now)
        if presented.isAhead(of: now) { throw .unavailable(.busy) }
        try throttle.admit(presented.sessionID.description)
        for _ in 0..<Limits.rotationTriesMax {
            let view = try await available { () async throws(Unavailability) in
                try await store.refreshView(sessionID: presented.sessionID, userID: presented.userID)
            }
            if let answer = try await attempt(request, presented, view, keyring: keys, at: now) { return answer }
        }
        throw .unavailable(.busy)
    }

    /// Signature, type, issuer and audience. A key that is not in memory is looked up before any refusal.
    private func prove(
        _ token: String, keyring: Keyring, at now: Timestamp
    ) async throws(AuthFailure) -> (SignedRefresh, Keyring) {
        var keyring = keyring
        var result = signed(token, keyring, now)
        if case .failure(.unknownKey) = result {
            keyring = try await available { () async throws(Unavailability) in try await keys.reload() }
            result = signed(token, keyring, now)
        }
        switch result {
        case .success(let presented): return (presented, keyring)
        case .failure(let error):
            throw await mint.refuse(error.refusalReason, presented: token, keyring: keyring, at: now)
        }
    }

    private func signed(_ token: String, _ keyring: Keyring, _ now: Timestamp) -> Result<SignedRefresh, JOSEError> {
        Result { () throws(JOSEError) in
            try SignedRefresh(UnverifiedJWS(token), keyring: keyring, policy: policy, at: now)
        }
    }

    /// One look at the row. `nil`: it changed while we decided; look again.
    private func attempt(
        _ request: RefreshRequest, _ presented: SignedRefresh, _ view: RefreshView, keyring: Keyring,
        at now: Timestamp
    ) async throws(AuthFailure) -> TokenAnswer? {
        guard let session = view.session else {
            throw await mint.refuse(.sessionUnknown, presented: request.token, keyring: keyring, at: now)
        }
        let secret = try opened(session)
        guard presented.isDerived(from: secret), areIdentical(session.userID, presented.userID),
            request.options.clientID.map({ areIdentical($0, session.clientID) }) ?? true
        else { throw await mint.refuse(.tokenForeign, presented: request.token, keyring: keyring, at: now) }

        let keyHash = request.key?.hash(for: secret)
        let decision = RefreshDecision.decide(
            presented: presented.generation, tokenExpiresAt: presented.end(by: session.current), keyHash: keyHash,
            state: session.rotation, windows: policy.windows, at: now)
        switch decision {
        case .ended(let reason): throw await refuse(reason, session, request, keyring, now)
        case .expired:
            try requireClock()
            throw await refuse(.refreshExpired, session, request, keyring, now)
        case .stale: throw await refuse(.refreshStale, session, request, keyring, now)
        case .reused:
            try requireClock()
            let hasEnded = try await turns.writing(session.writeOwner) { () async throws(Unavailability) in
                try await store.endSession(
                    session.id, reason: .refreshReused, ifGeneration: session.rotation.generation, at: now)
            }
            guard hasEnded else { return nil }
            throw await refuse(.refreshReused, session, request, keyring, now)
        case .replay(let cause):
            let grant = try await admitted(view, session, request, keyring, now)
            let answer = try await answer(grant, session, session.current, secret, keyring, now)
            if replays.count(of: session.id, generation: session.rotation.generation) == Limits.replaysNoted {
                await store.noteReplays(of: session, cause, at: now)
            }
            return answer.after(.replayed(cause))
        case .rotate(let generation, let isRestored):
            let grant = try await admitted(view, session, request, keyring, now)
            let issued = IssuedRefresh.make(
                generation: generation, kid: keyring.refresh.kid, lifetime: policy.refreshLifetime,
                sessionEnd: session.rotation.expiresAt, at: now)
            let rotation = Rotation(
                sessionID: session.id, state: session.rotation, issued: issued, keyHash: keyHash,
                isVerified: grant.isVerified, isRestored: isRestored, at: now)
            // Signed before it is written: a signer that is busy must not leave a generation behind that nobody has.
            let answer = try await answer(grant, session, issued, secret, keyring, now)
            let isWritten = try await turns.writing(session.writeOwner) { () async throws(Unavailability) in
                try await store.rotate(rotation)
            }
            return isWritten ? answer.after(isRestored ? .restored : .rotated) : nil
        }
    }

    /// Every check that can refuse a mint, before anything is written.
    private func admitted(
        _ view: RefreshView, _ session: DeviceSession, _ request: RefreshRequest, _ keyring: Keyring,
        _ now: Timestamp
    ) async throws(AuthFailure) -> AccessGrant {
        if let reason = session.deviceStatus.holdsReason {
            throw await refuse(reason, session, request, keyring, now)
        }
        if session.deviceStatus == .suspended { throw await refuse(.deviceSuspended, session, request, keyring, now) }
        let isVerified = try await isVerified(view, session, request, keyring, now)
        let scopes = try narrowed(request.options.scopes, within: session.scopes)
        guard let admitted = policy.admit(scopes, isVerified: isVerified)
        else { throw await refuse(.identityUnverified, session, request, keyring, now) }
        return AccessGrant(
            subject: session.userID, sessionID: session.id.description, deviceID: session.deviceID,
            clientID: session.clientID, scopes: admitted.scopes, audiences: admitted.audiences,
            isVerified: isVerified, authTime: session.authTime, amr: session.amr, actor: nil,
            lifetime: policy.accessLifetime, custom: view.claims)
    }

    /// Contract section 3: while too much has vanished for an absence to mean anything, device sessions go on refreshing,
    /// with what was last known of their users.
    private func isVerified(
        _ view: RefreshView, _ session: DeviceSession, _ request: RefreshRequest, _ keyring: Keyring,
        _ now: Timestamp
    ) async throws(AuthFailure) -> Bool {
        guard let user = view.user else {
            if try await isAbsenceCredible(at: now) {
                throw await refuse(.accountDeleted, session, request, keyring, now)
            }
            guard let wasVerified = session.wasVerified else { throw .unavailable(.dependency) }
            return wasVerified
        }
        if user.isBanned(at: now) {
            try await requireCredible(.rows, at: now)
            throw await refuse(.userBanned, session, request, keyring, now)
        }
        return user.isVerified
    }

    private func answer(
        _ grant: AccessGrant, _ session: DeviceSession, _ issued: IssuedRefresh, _ secret: Secret<[UInt8]>,
        _ keyring: Keyring, _ now: Timestamp
    ) async throws(AuthFailure) -> TokenAnswer {
        let key = try await refreshKey(issued.kid, keyring)
        let part = TokenMint.RefreshPart(
            issued: issued.signed(by: key.kid), key: key, sessionID: session.id,
            userID: session.userID, secret: secret, sessionExpiresAt: session.rotation.expiresAt)
        return try await mint.answer(grant, refresh: part, since: session.createdAt, keyring: keyring, at: now)
    }

    /// The row names its key: a replay is signed by the key that signed the successor the first time. Another server may
    /// have made that key a moment ago. One that was compromised signs nothing any more: the current key takes its place.
    private func refreshKey(_ kid: String, _ keyring: Keyring) async throws(AuthFailure) -> KeyPair {
        if let key = keyring.refreshKey(kid) { return key }
        let found = try await available { () async throws(Unavailability) in try await keys.reload() }
        if let key = found.refreshKey(kid) { return key }
        guard found.isDestroyed(kid) else { throw .unavailable(.misconfigured) }
        return found.refresh
    }

    private func refuse(
        _ reason: RefusalReason, _ session: DeviceSession, _ request: RefreshRequest, _ keyring: Keyring,
        _ now: Timestamp
    ) async -> AuthFailure {
        await mint.refuse(
            reason, isDeviceHeld: session.deviceStatus.holdsReason != nil, sessionID: session.id.description,
            deviceID: session.deviceID, since: session.createdAt, presented: request.token, keyring: keyring, at: now)
    }

    private func opened(_ session: DeviceSession) throws(AuthFailure) -> Secret<[UInt8]> {
        do throws(CryptoError) {
            return try sealing.open(session.sealedSecret, context: Self.secretContext(session.id))
        } catch {
            // A KEK that is missing is our fault and no verdict on the token.
            throw .unavailable(.misconfigured)
        }
    }

    static func secretContext(_ sessionID: UUID) -> String { "device-session:\(sessionID)" }
}

extension JOSEError {
    /// How a token that does not verify is called in a refusal.
    var refusalReason: RefusalReason {
        switch self {
        case .malformed, .algorithmNotAllowed, .typeMismatch, .claimInvalid: .tokenMalformed
        case .unknownKey, .signatureInvalid, .issuerMismatch, .audienceMismatch, .notYetValid: .tokenForeign
        case .expired: .accessExpired
        }
    }
}
