package import Primitives

/// What a user does with their devices and sessions. Foreign and unknown devices look alike: `.notFound`.
package struct DeviceService: Sendable {
    private let store: any DeviceStore
    private let sessions: any SessionStore
    private let gate: AccessGate
    private let turns: any WriteTurns
    private let clock: any WallClock

    package init(
        store: any DeviceStore, sessions: any SessionStore, gate: AccessGate, turns: any WriteTurns = NoTurns(),
        clock: any WallClock
    ) {
        self.store = store
        self.sessions = sessions
        self.gate = gate
        self.turns = turns
        self.clock = clock
    }

    package func devices(_ caller: Caller) async throws(AuthFailure) -> [Device] {
        try await available { () async throws(Unavailability) in try await store.devices(of: caller.userID) }
    }

    package func device(_ id: String, _ caller: Caller) async throws(AuthFailure) -> Device {
        let id = try parsed(id)
        let device = try await available { () async throws(Unavailability) in
            try await store.device(id, of: caller.userID)
        }
        guard let device else { throw .notFound }
        return device
    }

    /// Texts are cut and cleaned like those of a registration; a text with nothing visible is left out.
    package func update(
        _ id: String, name: String?, appVersion: String?, _ caller: Caller
    ) async throws(AuthFailure) -> Device {
        let id = try parsed(id)
        let device = try await turns.writing(caller.writeOwner) { () async throws(Unavailability) in
            try await store.updateDevice(
                id, of: caller.userID, name: DeviceMetadata.displayText(name),
                appVersion: DeviceMetadata.displayText(appVersion))
        }
        guard let device else { throw .notFound }
        return device
    }

    /// Idempotent. Another device needs fresh proof, one's own does not.
    package func revoke(_ id: String, _ caller: Caller) async throws(AuthFailure) {
        let target = try await device(id, caller)
        if target.id != caller.deviceID { try gate.requireFreshProof(caller) }
        _ = try await turns.writing(caller.writeOwner) { () async throws(Unavailability) in
            try await store.revokeDevice(target.id, of: caller.userID, status: .revoked, at: clock.now())
        }
    }

    /// Idempotent. Needs fresh proof, also for one's own device: a lost one stays out until its user clears it.
    ///
    /// - Parameter endsSessions: all of the user's sessions but the caller's: the phone may hold one that was never
    ///   presented here.
    package func reportLost(_ id: String, endsSessions: Bool, _ caller: Caller) async throws(AuthFailure) {
        let target = try await device(id, caller)
        try gate.requireFreshProof(caller)
        _ = try await turns.writing(caller.writeOwner) { () async throws(Unavailability) in
            endsSessions
                ? try await store.loseDevice(
                    target.id, of: caller.userID, sparing: caller.identitySessionID, at: clock.now())
                : try await store.revokeDevice(target.id, of: caller.userID, status: .lost, at: clock.now())
        }
    }

    /// The device was found. Idempotent, without effect on one that is not lost; needs fresh proof. The sessions that
    /// ended with the loss stay ended.
    package func clearLost(_ id: String, _ caller: Caller) async throws(AuthFailure) {
        let target = try await device(id, caller)
        try gate.requireFreshProof(caller)
        let now = clock.now()
        let fullUntil = try await turns.writing(caller.writeOwner) { () async throws(Unavailability) in
            try await store.clearLostDevice(
                target.id, of: caller.userID, devicesMax: gate.policy.devicesMax, at: now)
        }
        if let fullUntil { throw .devicesFull(wait: fullUntil - now) }
    }

    package func revokeOthers(_ caller: Caller) async throws(AuthFailure) {
        try gate.requireFreshProof(caller)
        try await turns.writing(caller.writeOwner) { () async throws(Unavailability) in
            try await store.revokeDevices(of: caller.userID, except: caller.deviceID, at: clock.now())
        }
    }

    /// Ends the caller's own session; with `everywhere` (fresh proof) all of the user's.
    package func signOut(_ caller: Caller, everywhere: Bool) async throws(AuthFailure) {
        let now = clock.now()
        if everywhere { try gate.requireFreshProof(caller) }
        try await turns.writing(caller.writeOwner) { () async throws(Unavailability) in
            // One call and not two: after an outage in between, the caller's dead token could not ask for the rest.
            if everywhere {
                try await sessions.endAllSessions(of: caller.userID, reason: .sessionRevoked, at: now)
            } else if let session = caller.deviceSession {
                _ = try await sessions.endSession(session.id, reason: .signedOut, ifGeneration: nil, at: now)
            } else {
                try await sessions.endIdentitySession(accessSID: caller.sessionID, reason: .signedOut, at: now)
            }
        }
    }

    package func user(_ caller: Caller) async throws(AuthFailure) -> IdentityUser? {
        try await available { () async throws(Unavailability) in try await sessions.user(caller.userID) }
    }

    private func parsed(_ id: String) throws(AuthFailure) -> UUID {
        guard let id = UUID(id) else { throw .notFound }
        return id
    }
}
