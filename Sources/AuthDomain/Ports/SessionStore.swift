import JSON
package import Primitives

/// Device sessions and identity sessions, in our database and in the identity store. One conformance suite holds every
/// implementation to it. All reads of one call are one round trip.
package protocol SessionStore: Sendable {
    /// What a refresh looks at.
    func refreshView(sessionID: UUID, userID: String) async throws(Unavailability) -> RefreshView

    /// Writes a rotation if the generation is still the expected one and the session lives. `false`: read again.
    func rotate(_ rotation: Rotation) async throws(Unavailability) -> Bool

    /// Tells an operator, in the log and in an audit event, that a device session was answered from the past several
    /// times in a row. An outage is no reason to refuse the client: the log line stands alone then.
    func noteReplays(of session: DeviceSession, _ cause: RefreshDecision.ReplayCause, at now: Timestamp) async

    /// Ends a live device session. `false` where it has ended already or its generation is not `generation`.
    func endSession(
        _ sessionID: UUID, reason: RefusalReason, ifGeneration generation: Int64?, at now: Timestamp
    ) async throws(Unavailability) -> Bool

    /// What an exchange of a session token looks at.
    ///
    /// - Parameters:
    ///   - token: what the session table's token column holds.
    ///   - tokenHash: keyed, what we remember the token by.
    func exchangeView(
        token: Secret<String>, tokenHash: [UInt8]
    ) async throws(Unavailability) -> ExchangeView

    /// The operator's claims for a session's user, the device row of an installation, and whether the session is marked.
    ///
    /// - Parameter candidateID: the id that the device would get if there is no row.
    func mintView(
        session: IdentitySession, installationID: String?, deviceID: UUID?, candidateID: UUID
    ) async throws(Unavailability) -> MintView

    /// Registers the device, ties the session to it and starts a device session where there is one to start, all or
    /// nothing.
    func register(_ registration: Registration) async throws(Unavailability) -> RegistrationOutcome

    /// Remembers a session that is used without a device.
    func remember(_ session: SeenSession) async throws(Unavailability) -> RegistrationOutcome

    /// Whether an access token, its session and its device may still be served, and whose they are; the user is read at
    /// every mint.
    ///
    /// - Parameters:
    ///   - deviceID: what the token names, which need not be a device of that session.
    ///   - tokenID: the token's `jti`.
    func accessView(sessionID: String, deviceID: UUID?, tokenID: String) async throws(Unavailability) -> AccessView

    /// Revokes one access token until its end. Idempotent; the first revocation stays.
    func revokeAccessToken(_ token: RevokedAccessToken) async throws(Unavailability)

    /// Signs an identity session out with us: exchanges of it are refused from now on.
    func endIdentitySession(
        accessSID: String, reason: RefusalReason, at now: Timestamp
    ) async throws(Unavailability)

    /// Ends all device sessions of a user and all identity sessions that we know of, and marks the user, so that
    /// sessions which were never presented here are refused as `session_revoked`: those that can be read now, and those
    /// that were made before. Within `Limits.clockSkew` of the mark the ids alone decide, for the application's clock is
    /// another.
    func endAllSessions(of userID: String, reason: RefusalReason, at now: Timestamp) async throws(Unavailability)

    /// The user's row, for "who am I".
    func user(_ id: String) async throws(Unavailability) -> IdentityUser?
}

package struct RefreshView: Sendable {
    package let session: DeviceSession?
    package let user: IdentityUser?
    package let claims: CustomClaims

    package init(session: DeviceSession?, user: IdentityUser?, claims: CustomClaims) {
        self.session = session
        self.user = user
        self.claims = claims
    }
}

package struct ExchangeView: Sendable {
    package let session: IdentitySession?
    package let user: IdentityUser?
    package let link: SessionLink?

    package init(session: IdentitySession?, user: IdentityUser?, link: SessionLink?) {
        self.session = session
        self.user = user
        self.link = link
    }

    /// What a verdict rests on.
    enum Evidence: Equatable {
        /// What we remember.
        case ours
        /// What rows of the identity store say.
        case rows
        /// Rows that are not there.
        case absence
    }

    func evidence(for reason: RefusalReason) -> Evidence {
        guard link?.end == nil else { return .ours }
        switch reason {
        case .sessionUnknown, .accountDeleted: return .absence
        case .sessionRevoked, .sessionExpired: return session == nil ? .absence : .rows
        case .userBanned: return .rows
        default: return .ours
        }
    }
}

package struct MintView: Sendable {
    package let device: Device?
    package let claims: CustomClaims
    /// Whether a sign-out of all of the user's sessions meant this one too.
    package let isMarked: Bool

    package init(device: Device?, claims: CustomClaims, isMarked: Bool) {
        self.device = device
        self.claims = claims
        self.isMarked = isMarked
    }
}

package struct AccessView: Sendable {
    package let isLive: Bool
    /// What the token's `sid` stands for; `nil` where there is no such session.
    package let bond: Bond?
    /// `nil` for a token without a device session.
    package let deviceSession: DeviceSession?

    /// What belongs to a session, by our rows.
    package struct Bond: Equatable, Sendable {
        package let userID: String
        package let identitySessionID: String
        /// Whether the device that the token names is one of the session's; true where it names none and needs none.
        package let hasDevice: Bool

        package init(userID: String, identitySessionID: String, hasDevice: Bool) {
            self.userID = userID
            self.identitySessionID = identitySessionID
            self.hasDevice = hasDevice
        }
    }

    /// Of a token without a device session.
    package init(isLive: Bool, bond: Bond?) {
        self.isLive = isLive
        self.bond = bond
        deviceSession = nil
    }

    /// - Parameter deviceID: the device that the token names. Every token of a device session names the session's.
    package init(isLive: Bool, deviceSession: DeviceSession, deviceID: UUID?) {
        self.isLive = isLive
        self.deviceSession = deviceSession
        bond = Bond(
            userID: deviceSession.userID, identitySessionID: deviceSession.identitySessionID,
            hasDevice: deviceSession.deviceID == deviceID)
    }

    /// Whether user, session and device of a token belong together. A signature alone does not prove that: with a key
    /// that leaked, one's own live `sid` would open another user's devices.
    func isOwned(by userID: String) -> Bool {
        bond.map { areIdentical($0.userID, userID) && $0.hasDevice } ?? false
    }
}

/// An access token that its holder has given up.
package struct RevokedAccessToken: Equatable, Sendable {
    package let tokenID: String
    package let userID: String
    package let deviceID: UUID?
    package let expiresAt: Timestamp
    package let revokedAt: Timestamp

    package init(tokenID: String, userID: String, deviceID: UUID?, expiresAt: Timestamp, revokedAt: Timestamp) {
        self.tokenID = tokenID
        self.userID = userID
        self.deviceID = deviceID
        self.expiresAt = expiresAt
        self.revokedAt = revokedAt
    }
}

/// An identity session that somebody has presented.
package struct SeenSession: Sendable {
    package let session: IdentitySession
    package let tokenHash: [UInt8]
    package let accessSID: String
    package let seenAt: Timestamp

    package init(session: IdentitySession, tokenHash: [UInt8], accessSID: String, seenAt: Timestamp) {
        self.session = session
        self.tokenHash = tokenHash
        self.accessSID = accessSID
        self.seenAt = seenAt
    }
}

/// What an exchange on a device writes.
package struct Registration: Sendable {
    package let seen: SeenSession
    package let deviceID: UUID
    package let metadata: DeviceMetadata
    package let push: PushRegistration?
    /// Whether the device was held and this session brings it back.
    package let reactivates: Bool
    /// How many devices the user may have, where this is one more of them: a new one, or one that comes back. The longest
    /// unused active ones give way. `nil` where the device counts already.
    package let devicesMax: Int?
    /// `nil` at `GET /auth/token`: the session is bound to the device, no device session begins.
    package let deviceSession: DeviceSessionStart?

    package init(
        seen: SeenSession, deviceID: UUID, metadata: DeviceMetadata, push: PushRegistration?, reactivates: Bool,
        devicesMax: Int?, deviceSession: DeviceSessionStart?
    ) {
        self.seen = seen
        self.deviceID = deviceID
        self.metadata = metadata
        self.push = push
        self.reactivates = reactivates
        self.devicesMax = devicesMax
        self.deviceSession = deviceSession
    }
}

package struct DeviceSessionStart: Sendable {
    package let id: UUID
    package let clientID: String
    package let scopes: ScopeSet
    package let authTime: Timestamp
    package let amr: [String]
    package let isVerified: Bool
    package let expiresAt: Timestamp
    package let issued: IssuedRefresh
    package let sealedSecret: [UInt8]

    package init(
        id: UUID, clientID: String, scopes: ScopeSet, authTime: Timestamp, amr: [String], isVerified: Bool,
        expiresAt: Timestamp, issued: IssuedRefresh, sealedSecret: [UInt8]
    ) {
        self.id = id
        self.clientID = clientID
        self.scopes = scopes
        self.authTime = authTime
        self.amr = amr
        self.isVerified = isVerified
        self.expiresAt = expiresAt
        self.issued = issued
        self.sealedSecret = sealedSecret
    }
}

package enum RegistrationOutcome: Equatable, Sendable {
    case registered
    /// Something that was decided on has changed meanwhile, the device's id or state or the session's end: look again.
    case changed
    /// The user has as many devices as they may, and none of them may give way before this time. Nothing was written.
    case full(until: Timestamp)
}
