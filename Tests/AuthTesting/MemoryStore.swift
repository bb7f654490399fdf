import AuthDomain
import Primitives

/// The stores of the domain in memory, with the semantics of the ports: what Postgres has to do as well.
///
/// It reads no clock: every time comes in as a parameter.
package final class MemoryStore: Sendable {
    struct State {
        var users: [String: IdentityUser] = [:]
        /// By what the session table's token column holds.
        var identitySessions: [String: IdentitySession] = [:]
        /// By the keyed hash of the token.
        var links: [[UInt8]: Link] = [:]
        var devices: [UUID: DeviceRow] = [:]
        var sessions: [UUID: SessionRow] = [:]
        /// `nil`: SQL's NULL.
        var customClaims: [UInt8]? = Array("{}".utf8)
        var claimsAskedFor: [(userID: String, deviceID: UUID?)] = []
        var restored: [UUID] = []
        var replayed: [UUID] = []
        /// By `jti`.
        var revokedTokens: [String: RevokedAccessToken] = [:]
        /// By user.
        var marks: [String: Mark] = [:]
        var lookedAt: Timestamp?
        var disappearance: IdentityDisappearance?
        var isTableMissing = false
        var mayBeBehind = false
        var isHidingRows = false
    }

    /// A sign-out of all of a user's sessions (`user_marks`).
    struct Mark {
        var markedAt: Timestamp
        var sessionIDs: Set<String>
        var sparedID: String?

        func revokes(_ session: IdentitySession) -> Bool {
            sessionIDs.contains(session.id)
                || sparedID != session.id && session.createdAt + Limits.clockSkew < markedAt
        }
    }

    /// What is remembered of a session that was presented (`identity_sessions`).
    struct Link {
        let sessionID: String
        let userID: String
        let accessSID: String
        let firstSeenAt: Timestamp
        var expiresAt: Timestamp
        var deviceID: UUID?
        var end: RefusalReason?
        var doubt: LinkedSession.Doubt?
        var ties: [UUID] = []
    }

    struct DeviceRow {
        let id: UUID
        let userID: String
        var metadata: DeviceMetadata
        var status = DeviceStatus.active
        var statusAt: Timestamp
        let createdAt: Timestamp
        var lastSeenAt: Timestamp
        var push: PushRegistration?
        var hasGivenWay = false

        var device: Device {
            Device(
                id: id, userID: userID, metadata: metadata, status: status, statusAt: statusAt, createdAt: createdAt,
                lastSeenAt: lastSeenAt, lastSyncAt: nil, isPushRegistered: push != nil, hasGivenWay: hasGivenWay)
        }
    }

    struct SessionRow {
        let new: DeviceSessionStart
        let userID: String
        let deviceID: UUID
        let identitySessionID: String
        let createdAt: Timestamp
        var issued: IssuedRefresh
        var rotatedAt: Timestamp
        var rotationKeys: [[UInt8]?] = []
        var hasSeenKey = false
        var wasVerified: Bool?
        var end: RefusalReason?
        var endedAt: Timestamp?

        func isLive(at now: Timestamp) -> Bool { end == nil && new.expiresAt > now }

        func session(deviceStatus: DeviceStatus) -> DeviceSession {
            DeviceSession(
                id: new.id, userID: userID, deviceID: deviceID, deviceStatus: deviceStatus, clientID: new.clientID,
                scopes: new.scopes, identitySessionID: identitySessionID, authTime: new.authTime, amr: new.amr,
                wasVerified: wasVerified, createdAt: createdAt,
                rotation: RotationState(
                    generation: issued.generation, rotatedAt: rotatedAt, rotationKeys: rotationKeys,
                    hasSeenKey: hasSeenKey, expiresAt: new.expiresAt, end: end),
                current: issued, sealedSecret: new.sealedSecret)
        }
    }

    let state = Locked(State())
    package let faults: PortFaults

    package init(faults: PortFaults = PortFaults()) {
        self.faults = faults
    }

    /// One call of a port: the hooks and faults around it, and its work in one step.
    func call<Result>(
        _ call: PortCall, _ body: (inout State) throws(Unavailability) -> Result
    ) async throws(Unavailability) -> Result {
        try await faults.enter(call)
        let result = try state.withLock { state throws(Unavailability) in try body(&state) }
        try await faults.leave(call)
        return result
    }
}

extension MemoryStore.State {
    func link(_ hash: [UInt8]) -> SessionLink? {
        guard let link = links[hash] else { return nil }
        return SessionLink(
            sessionID: link.sessionID, userID: link.userID, firstSeenAt: link.firstSeenAt, expiresAt: link.expiresAt,
            deviceID: link.deviceID, end: link.end,
            ties: link.ties.compactMap { id in
                devices[id].map { SessionLink.Tie(deviceID: id, status: $0.status) }
            })
    }

    func deviceSession(_ id: UUID) -> DeviceSession? {
        guard let row = sessions[id], let device = devices[row.deviceID] else { return nil }
        return row.session(deviceStatus: device.status)
    }

    mutating func claims(userID: String, deviceID: UUID?) throws(Unavailability) -> CustomClaims {
        claimsAskedFor.append((userID, deviceID))
        guard let customClaims else { return .none }
        do throws(CustomClaims.Failure) {
            return try CustomClaims(json: customClaims)
        } catch {
            throw .misconfigured
        }
    }

    mutating func end(
        sessionsWhere matches: (MemoryStore.SessionRow) -> Bool, reason: RefusalReason, at now: Timestamp
    ) {
        for (id, row) in sessions where row.end == nil && matches(row) {
            sessions[id]?.end = reason
            sessions[id]?.endedAt = now
        }
    }

    /// Ends and marks all that a user has, but one identity session and what rests on it.
    mutating func endAll(of userID: String, reason: RefusalReason, sparing sparedID: String?, at now: Timestamp) {
        end(sessionsWhere: { $0.userID == userID && $0.identitySessionID != sparedID }, reason: reason, at: now)
        end(linksWhere: { $0.userID == userID && $0.sessionID != sparedID }, reason: reason)
        var ids = Set(identitySessions.values.filter { $0.userID == userID }.map(\.id))
        if let old = marks[userID], old.markedAt > now - .hours(1) { ids.formUnion(old.sessionIDs) }
        marks[userID] = MemoryStore.Mark(
            markedAt: now, sessionIDs: ids.filter { $0 != sparedID }, sparedID: sparedID)
    }

    func isMarked(_ session: IdentitySession) -> Bool { marks[session.userID]?.revokes(session) ?? false }

    mutating func end(linksWhere matches: (MemoryStore.Link) -> Bool, reason: RefusalReason) {
        for (hash, link) in links where link.end == nil && matches(link) { links[hash]?.end = reason }
    }
}
