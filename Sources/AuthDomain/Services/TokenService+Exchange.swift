import Crypto
import Primitives

/// From a session of the identity store to tokens.
extension TokenService {
    /// A session token as it was presented, with the device that it came from.
    package struct SessionRequest: Sendable {
        package let token: String
        package let device: DeviceMetadata?
        package let push: PushRegistration?
        package let options: Options

        package init(token: String, device: DeviceMetadata?, push: PushRegistration?, options: Options) {
            self.token = token
            self.device = device
            self.push = push
            self.options = options
        }
    }

    /// RFC 8693: a device session where there is a device, else an access token only.
    package func exchange(_ request: SessionRequest) async throws(AuthFailure) -> TokenAnswer {
        try await issue(request, startsDeviceSession: true)
    }

    /// `GET /auth/token`: an access token for the session, bound to the device that it was used with.
    package func accessToken(_ request: SessionRequest) async throws(AuthFailure) -> TokenAnswer {
        try await issue(request, startsDeviceSession: false)
    }

    private func issue(
        _ request: SessionRequest, startsDeviceSession: Bool
    ) async throws(AuthFailure) -> TokenAnswer {
        let now = clock.now()
        let keyring = try await required()
        for _ in 0..<Limits.rotationTriesMax {
            let proved = try await prove(request, keyring: keyring, at: now)
            if proved.session.impersonatedBy != nil {
                let answer = try await withoutRegistration(request, proved, keyring: keyring, at: now)
                if let answer { return answer } else { continue }
            }
            guard let metadata = request.device else {
                let answer = try await withoutRegistration(
                    request, proved, keyring: keyring, boundTo: startsDeviceSession ? nil : proved.link?.deviceID,
                    at: now)
                if let answer { return answer } else { continue }
            }
            let answer = try await register(
                metadata, request, proved, startsDeviceSession: startsDeviceSession, keyring: keyring, at: now)
            if let answer { return answer }
        }
        throw .unavailable(.busy)
    }

    /// A session that may be exchanged, with what proves it.
    private struct Proved {
        let session: IdentitySession
        let user: IdentityUser
        let link: SessionLink?
        let seen: SeenSession
    }

    private func prove(
        _ request: SessionRequest, keyring: Keyring, at now: Timestamp
    ) async throws(AuthFailure) -> Proved {
        let token: SessionToken
        do throws(SessionTokenReader.Failure) {
            token = try sessionTokens.read(request.token)
        } catch {
            let reason: RefusalReason = error == .malformed ? .tokenMalformed : .tokenForeign
            throw await mint.refuse(reason, presented: request.token, keyring: keyring, at: now)
        }
        let tokenHash = keyring.hasher.hash(token.token.exposed, purpose: "session-token")
        let column = lookup.column(for: token)
        let view = try await available { () async throws(Unavailability) in
            try await store.exchangeView(token: column, tokenHash: tokenHash)
        }
        switch SessionVerdict.judge(session: view.session, user: view.user, link: view.link, at: now) {
        case .refused(let reason, let deviceID, let isDeviceHeld):
            if view.link?.end == nil, reason == .sessionExpired || reason == .sessionRevoked { try requireClock() }
            try await requireCredible(view.evidence(for: reason), at: now)
            throw await mint.refuse(
                reason, isDeviceHeld: isDeviceHeld, deviceID: deviceID, since: view.link?.firstSeenAt,
                presented: request.token, keyring: keyring, at: now)
        case .live(let session, let user):
            let seen = SeenSession(
                session: session, tokenHash: tokenHash, accessSID: keyring.hasher.accessSID(of: session.id),
                seenAt: now)
            return Proved(session: session, user: user, link: view.link, seen: seen)
        }
    }

    /// Whatever its row says: all of the user's sessions were signed out.
    private func refuseMarked(
        _ view: MintView, _ request: SessionRequest, _ proved: Proved, keyring: Keyring, at now: Timestamp
    ) async throws(AuthFailure) {
        guard view.isMarked else { return }
        throw await mint.refuse(
            .sessionRevoked, deviceID: proved.link?.deviceID, since: proved.link?.firstSeenAt,
            presented: request.token, keyring: keyring, at: now)
    }

    /// `nil`: the session ended while we decided; look again.
    private func withoutRegistration(
        _ request: SessionRequest, _ proved: Proved, keyring: Keyring, boundTo deviceID: UUID? = nil,
        at now: Timestamp
    ) async throws(AuthFailure) -> TokenAnswer? {
        let view = try await available { () async throws(Unavailability) in
            try await store.mintView(
                session: proved.session, installationID: nil, deviceID: deviceID, candidateID: UUID(random: random))
        }
        try await refuseMarked(view, request, proved, keyring: keyring, at: now)
        let grant = try await admitted(
            request, proved, sessionID: proved.seen.accessSID, deviceID: deviceID, claims: view.claims,
            keyring: keyring, at: now)
        let isKnown = proved.link.map { $0.expiresAt == proved.session.expiresAt } ?? false
        if !isKnown {
            let owner = WriteOwner(userID: proved.user.id, device: deviceID?.description)
            let outcome = try await turns.writing(owner) { () async throws(Unavailability) in
                try await store.remember(proved.seen)
            }
            guard outcome == .registered else { return nil }
        }
        return try await mint.answer(
            grant, refresh: nil, since: proved.link?.firstSeenAt, keyring: keyring, at: now)
    }

    /// `nil`: the device or the session changed while we decided; look again.
    private func register(
        _ metadata: DeviceMetadata, _ request: SessionRequest, _ proved: Proved, startsDeviceSession: Bool,
        keyring: Keyring, at now: Timestamp
    ) async throws(AuthFailure) -> TokenAnswer? {
        let candidate = UUID(random: random)
        let view = try await available { () async throws(Unavailability) in
            try await store.mintView(
                session: proved.session, installationID: metadata.installationID, deviceID: nil,
                candidateID: candidate)
        }
        let admission = view.device?.admission(of: proved.session, firstSeenAt: proved.link?.firstSeenAt) ?? .asIs
        if case .refused(let reason) = admission {
            throw await mint.refuse(
                reason, isDeviceHeld: true, deviceID: view.device?.id, since: view.device?.createdAt,
                presented: request.token, keyring: keyring, at: now)
        }
        try await refuseMarked(view, request, proved, keyring: keyring, at: now)
        let deviceID = view.device?.id ?? candidate
        let sessionID = UUID(random: random)
        let grant = try await admitted(
            request, proved, sessionID: startsDeviceSession ? sessionID.description : proved.seen.accessSID,
            deviceID: deviceID, claims: view.claims, keyring: keyring, at: now)
        let started =
            startsDeviceSession
            ? try deviceSessionStart(sessionID, request, proved, keyring: keyring, at: now) : nil
        let registration = Registration(
            seen: proved.seen, deviceID: deviceID, metadata: metadata, push: request.push,
            reactivates: admission == .reactivates,
            devicesMax: admission == .reactivates || view.device?.hasGivenWay ?? true ? policy.devicesMax : nil,
            deviceSession: started?.row)
        // Signed before it is written: tries that a busy signer refuses must not push older device sessions out.
        let answer = try await mint.answer(
            grant, refresh: started?.part, since: proved.link?.firstSeenAt, keyring: keyring, at: now)
        let owner = WriteOwner(
            userID: proved.user.id, device: view.device?.id.description ?? metadata.installationID)
        let outcome = try await turns.writing(owner) { () async throws(Unavailability) in
            try await store.register(registration)
        }
        switch outcome {
        case .registered: return answer
        case .changed: return nil
        case .full(let until): throw .devicesFull(wait: until - now)
        }
    }

    private func deviceSessionStart(
        _ id: UUID, _ request: SessionRequest, _ proved: Proved, keyring: Keyring, at now: Timestamp
    ) throws(AuthFailure) -> (row: DeviceSessionStart, part: TokenMint.RefreshPart) {
        let secret = Secret(random.bytes(32))
        let sealed: [UInt8]
        do throws(CryptoError) {
            sealed = try sealing.seal(secret.exposed, context: Self.secretContext(id), random: random)
        } catch {
            throw .unavailable(.misconfigured)
        }
        let end = (now + policy.sessionMaxAge).wholeSeconds
        let issued = IssuedRefresh.make(
            generation: 1, kid: keyring.refresh.kid, lifetime: policy.refreshLifetime, sessionEnd: end, at: now)
        let row = DeviceSessionStart(
            id: id, clientID: request.options.clientID ?? Self.defaultClientID,
            // The gate withholds at each mint; the session keeps what its user may have once verified.
            scopes: try narrowed(request.options.scopes, within: policy.scopes),
            authTime: proved.session.createdAt, amr: ["session"], isVerified: proved.user.isVerified, expiresAt: end,
            issued: issued, sealedSecret: sealed)
        let part = TokenMint.RefreshPart(
            issued: issued, key: keyring.refresh, sessionID: id, userID: proved.user.id, secret: secret,
            sessionExpiresAt: end)
        return (row, part)
    }

    private func admitted(
        _ request: SessionRequest, _ proved: Proved, sessionID: String, deviceID: UUID?, claims: CustomClaims,
        keyring: Keyring, at now: Timestamp
    ) async throws(AuthFailure) -> AccessGrant {
        let scopes = try narrowed(request.options.scopes, within: policy.scopes)
        guard let admitted = policy.admit(scopes, isVerified: proved.user.isVerified) else {
            throw await mint.refuse(.identityUnverified, presented: request.token, keyring: keyring, at: now)
        }
        let actor = proved.session.impersonatedBy
        return AccessGrant(
            subject: proved.user.id, sessionID: sessionID, deviceID: deviceID,
            clientID: request.options.clientID ?? Self.defaultClientID, scopes: admitted.scopes,
            audiences: admitted.audiences, isVerified: proved.user.isVerified, authTime: proved.session.createdAt,
            amr: ["session"], actor: actor,
            lifetime: actor == nil ? policy.accessLifetime : policy.impersonationLifetime, custom: claims)
    }
}
