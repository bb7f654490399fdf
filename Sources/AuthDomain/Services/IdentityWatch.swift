package import Primitives

/// Follows the sessions of the identity store that something of ours rests on: their expiry, and their ends.
///
/// A look reads all of them in batches; what seems to have ended is read a second time before it ends here. Where too
/// much vanishes at once nothing is believed until an operator has spoken.
package struct IdentityWatch: Sendable {
    private let store: any IdentityWatchStore
    private let follow: IdentityFollow
    private let vanishedPercentMax: Int
    private let clock: any WallClock

    package init(
        store: any IdentityWatchStore, follow: IdentityFollow, vanishedPercentMax: Int = Limits.vanishedPercentMax,
        clock: any WallClock
    ) {
        self.store = store
        self.follow = follow
        self.vanishedPercentMax = vanishedPercentMax
        self.clock = clock
    }

    package enum Outcome: Equatable, Sendable {
        /// Another server looks.
        case notOurTurn
        case allWell
        /// Some are in doubt: call `confirm` after `Limits.absenceConfirmation`.
        case inDoubt(IdentityCensus)
        case disappearance(IdentityDisappearance)
    }

    /// The first read.
    package func look(every interval: Duration) async throws(Unavailability) -> Outcome {
        guard try await store.claimTurn(every: interval, at: clock.now()) else { return .notOurTurn }
        do throws(Unavailability) {
            var isInDoubt = false
            let census = try await readAll(inDoubt: false) { steps throws(Unavailability) in
                isInDoubt = isInDoubt || steps.contains { $0.1.isDoubt || $0.0.doubt != nil }
            }
            try await store.noteCompletion(at: clock.now())
            if let known = try await store.disappearance() { return .disappearance(known) }
            if census.isMassDisappearance(above: vanishedPercentMax) { return try await declare(.rows, census) }
            return isInDoubt ? .inDoubt(census) : .allWell
        } catch .misconfigured {
            // A table that was renamed or dropped is no fault of the network, and its rows may come back incomplete.
            let census = try await believed()
            guard census.liveUsers >= 2, try await store.isTableMissing() else { throw .misconfigured }
            return try await declare(.table, census)
        }
    }

    /// The second read, of the users of whom something is in doubt.
    ///
    /// - Parameter census: of the first.
    package func confirm(_ census: IdentityCensus) async throws(Unavailability) -> Outcome {
        var ends: [RefusalReason: [String]] = [:]
        let second = try await readAll(inDoubt: true) { steps throws(Unavailability) in
            for case (let linked, .end(let reason)) in steps { ends[reason, default: []].append(linked.id) }
        }
        if let known = try await store.disappearance() { return .disappearance(known) }
        // What vanished between the two reads counts as well, before anything ends.
        var both = second
        both.knownSessions = max(census.knownSessions, second.knownSessions)
        both.knownUsers = max(census.knownUsers, second.knownUsers)
        both.liveUsers = max(census.liveUsers, second.liveUsers)
        if both.isMassDisappearance(above: vanishedPercentMax) { return try await declare(.rows, both) }
        if try await store.isHidingRows() { return .inDoubt(census) }
        for (reason, ids) in ends { try await store.endDoubted(ids, reason: reason, at: clock.now()) }
        return .allWell
    }

    static func judge(
        _ linked: LinkedSession, _ sighting: SessionSighting, _ store: any IdentityWatchStore, _ follow: IdentityFollow,
        at now: Timestamp
    ) -> SightingVerdict {
        let verdict = SightingVerdict.judge(linked, sighting, follow: follow, at: now)
        return store.mayBeBehind ? verdict.believedOfReplica(linked) : verdict
    }

    private func readAll(
        inDoubt: Bool, _ handle: ([(LinkedSession, SightingStep)]) throws(Unavailability) -> Void
    ) async throws(Unavailability) -> IdentityCensus {
        var taker = CensusTaker()
        var previous: LinkedSession?
        repeat {
            let now = clock.now()
            let sessions = try await store.linkedSessions(
                after: previous, inDoubt: inDoubt, limit: Limits.sightingBatch, at: now)
            let sightings = try await store.sightings(of: sessions)
            var steps: [(LinkedSession, SightingStep)] = []
            for (linked, sighting) in zip(sessions, sightings) {
                let verdict = Self.judge(linked, sighting, store, follow, at: now)
                taker.count(linked, verdict, at: now)
                steps.append((linked, .next(linked, verdict, at: now)))
            }
            try await store.note(steps, at: now)
            try handle(steps)
            previous = sessions.count == Limits.sightingBatch ? sessions.last : nil
        } while previous != nil
        return try await Self.completed(taker.census, store)
    }

    /// The tables are asked only where something is missing.
    static func completed(
        _ census: IdentityCensus, _ store: any IdentityWatchStore
    ) async throws(Unavailability) -> IdentityCensus {
        guard census.vanishedSessions + census.vanishedUsers > 0 else { return census }
        var census = census
        (census.isSessionTableEmpty, census.isUserTableEmpty) = try await store.emptyTables()
        return census
    }

    /// What should be there, without a look at the identity store.
    private func believed() async throws(Unavailability) -> IdentityCensus {
        let now = clock.now()
        var taker = CensusTaker()
        for linked in try await store.linkedSessions(after: nil, inDoubt: false, limit: Limits.sightingBatch, at: now) {
            taker.count(linked, .passive, at: now)
        }
        return taker.census
    }

    private func declare(
        _ cause: IdentityDisappearance.Cause, _ census: IdentityCensus
    ) async throws(Unavailability) -> Outcome {
        let disappearance = IdentityDisappearance(cause: cause, census: census)
        try await store.declare(disappearance, at: clock.now())
        return .disappearance(disappearance)
    }
}
