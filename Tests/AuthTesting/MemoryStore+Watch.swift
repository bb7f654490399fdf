package import AuthDomain
package import Primitives

/// Linked sessions in memory. Users and sessions of the identity store are those that the other ports see.
extension MemoryStore: IdentityWatchStore {
    package var mayBeBehind: Bool { state.withLock { $0.mayBeBehind } }

    package func claimTurn(every interval: Duration, at now: Timestamp) async throws(Unavailability) -> Bool {
        try await call(.watch) { state in
            if let last = state.lookedAt, last > now - interval, last <= now { return false }
            state.lookedAt = now
            return true
        }
    }

    package func linkedSessions(
        after previous: LinkedSession?, inDoubt: Bool, limit: Int, at now: Timestamp
    ) async throws(Unavailability) -> [LinkedSession] {
        try await call(.watch) { state in
            let floor = (previous?.userID ?? "", previous?.id ?? "")
            return state.links.values.compactMap { link -> LinkedSession? in
                let isNeeded = state.sessions.values.contains {
                    $0.identitySessionID == link.sessionID && $0.isLive(at: now)
                }
                let isUserDoubted = state.links.values.contains {
                    $0.userID == link.userID && $0.end == nil && $0.doubt != nil
                }
                guard link.end == nil, (link.userID, link.sessionID) > floor, !inDoubt || isUserDoubted,
                    link.expiresAt > now || link.doubt != nil || isNeeded
                else { return nil }
                return LinkedSession(
                    id: link.sessionID, userID: link.userID, expiresAt: link.expiresAt, doubt: link.doubt)
            }.sorted { ($0.userID, $0.id) < ($1.userID, $1.id) }.prefix(limit).map(\.self)
        }
    }

    package func linkedSample(users: Int, at now: Timestamp) async throws(Unavailability) -> [LinkedSession] {
        let all = try await linkedSessions(after: nil, inDoubt: false, limit: .max, at: now)
        let chosen = Set(Set(all.map(\.userID)).shuffled().prefix(users))
        return all.filter { chosen.contains($0.userID) }
    }

    package func noteCompletion(at now: Timestamp) async throws(Unavailability) {
        try await call(.watch) { _ in }
    }

    package func isHidingRows() async throws(Unavailability) -> Bool {
        try await call(.watch) { state in state.isHidingRows }
    }

    package func sightings(of sessions: [LinkedSession]) async throws(Unavailability) -> [SessionSighting] {
        try await call(.sightings) { state in
            sessions.map { linked in
                SessionSighting(
                    expiresAt: state.identitySessions.values.first { $0.id == linked.id && $0.userID == linked.userID }?
                        .expiresAt,
                    isUserThere: state.users[linked.userID] != nil)
            }
        }
    }

    package func note(_ steps: [(LinkedSession, SightingStep)], at now: Timestamp) async throws(Unavailability) {
        try await call(.watch) { state in
            for (linked, step) in steps {
                for (hash, link) in state.links where link.sessionID == linked.id && link.end == nil {
                    switch step {
                    case .nothing, .end: break
                    case .keep(let expiresAt):
                        state.links[hash]?.expiresAt = expiresAt
                        state.links[hash]?.doubt = nil
                    case .doubt(let reason):
                        state.links[hash]?.doubt = LinkedSession.Doubt(reason: reason, since: now)
                    }
                }
            }
        }
    }

    package func endDoubted(
        _ sessionIDs: [String], reason: RefusalReason, at now: Timestamp
    ) async throws(Unavailability) {
        try await call(.watch) { state in
            guard state.disappearance == nil else { return }
            state.endDoubted(at: now) { sessionIDs.contains($0.sessionID) && $0.doubt?.reason == reason }
        }
    }

    package func emptyTables() async throws(Unavailability) -> (session: Bool, user: Bool) {
        try await call(.sightings) { state in (state.identitySessions.isEmpty, state.users.isEmpty) }
    }

    package func isTableMissing() async throws(Unavailability) -> Bool {
        try await call(.watch) { state in state.isTableMissing }
    }

    package func disappearance() async throws(Unavailability) -> IdentityDisappearance? {
        try await call(.watch) { state in state.disappearance }
    }

    package func declare(
        _ disappearance: IdentityDisappearance, at now: Timestamp
    ) async throws(Unavailability) {
        try await call(.watch) { state in state.disappearance = state.disappearance ?? disappearance }
    }

    package func confirmDisappearance(at now: Timestamp) async throws(Unavailability) -> Int? {
        try await call(.watch) { state in
            guard state.disappearance != nil else { return nil }
            state.disappearance = nil
            return state.endDoubted(at: now) { _ in true }
        }
    }

    package func dismissDisappearance(at now: Timestamp) async throws(Unavailability) -> Bool {
        try await call(.watch) { state in
            guard state.disappearance != nil else { return false }
            state.disappearance = nil
            for hash in state.links.keys { state.links[hash]?.doubt = nil }
            return true
        }
    }

    /// As device sessions are that older servers have written.
    package func forgetVerification() {
        state.withLock { state in
            for id in state.sessions.keys { state.sessions[id]?.wasVerified = nil }
        }
    }

    /// Whether the identity store counts as a replica.
    package func setMayBeBehind(_ isReplica: Bool) { state.withLock { $0.mayBeBehind = isReplica } }

    /// Whether the identity store shows no rows although there are some.
    package func setHidingRows(_ isHiding: Bool) { state.withLock { $0.isHidingRows = isHiding } }

    /// Whether the identity store's tables are found.
    package func setTableMissing(_ isMissing: Bool) { state.withLock { $0.isTableMissing = isMissing } }
}

extension MemoryStore.State {
    @discardableResult
    mutating func endDoubted(at now: Timestamp, where matches: (MemoryStore.Link) -> Bool) -> Int {
        var count = 0
        for (hash, link) in links where link.end == nil && matches(link) {
            guard let doubt = link.doubt else { continue }
            count += 1
            links[hash]?.doubt = nil
            if doubt.reason != .sessionExpired { links[hash]?.end = doubt.reason }
            end(sessionsWhere: { $0.identitySessionID == link.sessionID }, reason: doubt.reason, at: now)
        }
        return count
    }
}
