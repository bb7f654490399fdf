package import AuthDomain
package import Primitives

/// What a test puts in and looks at; none of it passes the hooks and faults.
extension MemoryStore {
    package func putUser(
        _ id: String, isVerified: Bool = true, ban: IdentityUser.Ban? = nil, name: String? = "Ada", email: String? = nil
    ) {
        state.withLock { state in
            state.users[id] = IdentityUser(
                id: id, name: name, email: email ?? "\(id)@example.com", isVerified: isVerified, ban: ban)
        }
    }

    package func removeUser(_ id: String) { state.withLock { $0.users[id] = nil } }

    /// - Parameter column: what the session table's token column holds.
    package func putSession(_ session: IdentitySession, column: String) {
        state.withLock { $0.identitySessions[column] = session }
    }

    package func removeSession(column: String) { state.withLock { $0.identitySessions[column] = nil } }

    /// What `sallyport.custom_claims` returns from now on, as JSON text; `nil` is SQL's NULL.
    package func setCustomClaims(_ json: String?) { state.withLock { $0.customClaims = json.map { Array($0.utf8) } } }

    /// Of an operator: also suspends and resumes, which no port does.
    package func setStatus(_ status: DeviceStatus, of deviceID: UUID, at now: Timestamp) {
        state.withLock { state in
            if status.holdsReason != nil {
                state.revoke(deviceID, status: status, at: now)
            } else {
                state.devices[deviceID]?.status = status
                state.devices[deviceID]?.statusAt = now
            }
        }
    }

    /// Ends a device session whatever its generation.
    package func end(_ sessionID: UUID, reason: RefusalReason, at now: Timestamp) {
        state.withLock { $0.end(sessionsWhere: { $0.new.id == sessionID }, reason: reason, at: now) }
    }

    /// Puts a device session's rotation back to what it was: a failover that lost the last commits.
    package func restore(_ session: DeviceSession) {
        state.withLock { state in
            state.sessions[session.id]?.issued = session.current
            state.sessions[session.id]?.rotatedAt = session.rotation.rotatedAt
            state.sessions[session.id]?.rotationKeys = session.rotation.rotationKeys
            state.sessions[session.id]?.hasSeenKey = session.rotation.hasSeenKey
            state.sessions[session.id]?.end = session.rotation.end
        }
    }

    package func deviceSession(_ id: UUID) -> DeviceSession? { state.withLock { $0.deviceSession(id) } }

    /// All device sessions of a user, oldest first, ended ones too.
    package func deviceSessions(of userID: String) -> [DeviceSession] {
        state.withLock { state in
            state.sessions.values.filter { $0.userID == userID }
                .sorted { ($0.createdAt, $0.new.id.description) < ($1.createdAt, $1.new.id.description) }
                .compactMap { state.deviceSession($0.new.id) }
        }
    }

    package func storedDevice(_ id: UUID) -> Device? { state.withLock { $0.devices[id]?.device } }

    package func pushToken(of deviceID: UUID) -> String? {
        state.withLock { $0.devices[deviceID]?.push?.token.exposed }
    }

    /// What is remembered of an identity session, by its id.
    package func link(ofSession id: String) -> SessionLink? {
        state.withLock { state in
            state.links.first { $0.value.sessionID == id }.flatMap { state.link($0.key) }
        }
    }

    /// Device sessions whose generation was caught up, in order (`generation_restored`).
    package var restoredSessions: [UUID] { state.withLock { $0.restored } }

    /// Device sessions whose replays were noted, in order (`refresh_replayed`).
    package var replayedSessions: [UUID] { state.withLock { $0.replayed } }

    /// `jti`s of access tokens that were revoked one by one.
    package var revokedTokens: Set<String> { state.withLock { Set($0.revokedTokens.keys) } }

    /// For whom `custom_claims` was asked, in order.
    package var claimsAskedFor: [(userID: String, deviceID: UUID?)] { state.withLock { $0.claimsAskedFor } }
}
