package import AuthDomain
package import Primitives

extension MemoryStore: SessionStore {
    package func refreshView(sessionID: UUID, userID: String) async throws(Unavailability) -> RefreshView {
        try await call(.refreshView) { state throws(Unavailability) in
            let session = state.deviceSession(sessionID)
            // An ended session is answered with its reason, whatever else can be found out.
            let claims: CustomClaims =
                if let session, session.rotation.end == nil {
                    try state.claims(userID: userID, deviceID: session.deviceID)
                } else { .none }
            return RefreshView(session: session, user: state.users[userID], claims: claims)
        }
    }

    package func rotate(_ rotation: Rotation) async throws(Unavailability) -> Bool {
        try await call(.rotate) { state in
            guard var row = state.sessions[rotation.sessionID], row.end == nil,
                row.issued.generation == rotation.expectedGeneration
            else { return false }
            row.issued = rotation.issued
            row.rotatedAt = rotation.rotatedAt
            row.rotationKeys = rotation.rotationKeys
            row.hasSeenKey = rotation.hasSeenKey
            row.wasVerified = rotation.isVerified
            state.sessions[rotation.sessionID] = row
            state.devices[row.deviceID]?.lastSeenAt = rotation.rotatedAt
            if rotation.isRestored { state.restored.append(rotation.sessionID) }
            return true
        }
    }

    package func noteReplays(
        of session: DeviceSession, _ cause: RefreshDecision.ReplayCause, at now: Timestamp
    ) async {
        state.withLock { $0.replayed.append(session.id) }
    }

    package func endSession(
        _ sessionID: UUID, reason: RefusalReason, ifGeneration generation: Int64?, at now: Timestamp
    ) async throws(Unavailability) -> Bool {
        try await call(.endSession) { state in
            guard let row = state.sessions[sessionID], row.end == nil,
                generation.map({ $0 == row.issued.generation }) ?? true
            else { return false }
            state.end(sessionsWhere: { $0.new.id == sessionID }, reason: reason, at: now)
            return true
        }
    }

    package func exchangeView(
        token: Secret<String>, tokenHash: [UInt8]
    ) async throws(Unavailability) -> ExchangeView {
        try await call(.exchangeView) { state in
            let session = state.identitySessions[token.exposed]
            let known = state.link(tokenHash)
            let isOthers = session.map { $0.id != known?.sessionID || $0.userID != known?.userID } ?? false
            let link = isOthers ? nil : known
            return ExchangeView(
                session: session, user: (session?.userID ?? link?.userID).flatMap { state.users[$0] }, link: link)
        }
    }

    package func mintView(
        session: IdentitySession, installationID: String?, deviceID: UUID?, candidateID: UUID
    ) async throws(Unavailability) -> MintView {
        try await call(.mintView) { state throws(Unavailability) in
            let userID = session.userID
            let row = state.devices.values.first { row in
                row.userID == userID
                    && (row.id == deviceID || row.metadata.installationID == installationID)
            }
            let claimsDevice = row?.id ?? (installationID == nil ? nil : candidateID)
            return MintView(
                device: row?.device, claims: try state.claims(userID: userID, deviceID: claimsDevice),
                isMarked: state.isMarked(session))
        }
    }

    package func remember(_ session: SeenSession) async throws(Unavailability) -> RegistrationOutcome {
        try await call(.remember) { state in
            guard state.links[session.tokenHash]?.end == nil, !state.isMarked(session.session) else { return .changed }
            state.remember(session, deviceID: nil)
            return .registered
        }
    }

    package func accessView(
        sessionID: String, deviceID: UUID?, tokenID: String
    ) async throws(Unavailability) -> AccessView {
        try await call(.accessView) { state in
            let isRevoked = state.revokedTokens[tokenID] != nil
            if let id = UUID(sessionID) {
                guard let session = state.deviceSession(id) else { return AccessView(isLive: false, bond: nil) }
                let isLive = session.rotation.end == nil && session.deviceStatus == .active
                return AccessView(isLive: isLive && !isRevoked, deviceSession: session, deviceID: deviceID)
            }
            guard let link = state.links.values.first(where: { $0.accessSID == sessionID }) else {
                return AccessView(isLive: false, bond: nil)
            }
            let isTiedToHeld = link.ties.contains { state.devices[$0]?.status.holdsReason != nil }
            let isDeviceActive = deviceID.map { state.devices[$0]?.status == .active } ?? true
            return AccessView(
                isLive: link.end == nil && !isTiedToHeld && isDeviceActive && !isRevoked,
                bond: AccessView.Bond(
                    userID: link.userID, identitySessionID: link.sessionID,
                    hasDevice: deviceID.map { link.ties.contains($0) } ?? true))
        }
    }

    package func revokeAccessToken(_ token: RevokedAccessToken) async throws(Unavailability) {
        try await call(.revokeAccessToken) { state in
            if state.revokedTokens[token.tokenID] == nil { state.revokedTokens[token.tokenID] = token }
        }
    }

    package func endIdentitySession(
        accessSID: String, reason: RefusalReason, at now: Timestamp
    ) async throws(Unavailability) {
        try await call(.endIdentitySession) { state in
            state.end(linksWhere: { $0.accessSID == accessSID }, reason: reason)
        }
    }

    package func endAllSessions(
        of userID: String, reason: RefusalReason, at now: Timestamp
    ) async throws(Unavailability) {
        try await call(.endAllSessions) { state in
            state.endAll(of: userID, reason: reason, sparing: nil, at: now)
        }
    }

    package func user(_ id: String) async throws(Unavailability) -> IdentityUser? {
        try await call(.user) { state in state.users[id] }
    }
}
