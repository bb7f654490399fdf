package import Primitives

/// Whether rows that are not there say anything at this moment; asked before every refusal that rests on an absence.
///
/// The last look of the watch has the first word. Between looks a random sample of linked users is read, once a second
/// for all requests of the process: what a flood of credentials without a row costs is bounded by that.
package final class AbsenceCheck: Sendable {
    private let store: any IdentityWatchStore
    private let vanishedPercentMax: Int
    private let sample = SharedLook<Bool>()

    package init(_ store: any IdentityWatchStore, vanishedPercentMax: Int) {
        self.store = store
        self.vanishedPercentMax = vanishedPercentMax
    }

    /// Whether the identity store may be a replica, of which only what lives is believed.
    var mayBeBehind: Bool { store.mayBeBehind }

    package func isCredible(at now: Timestamp) async throws(Unavailability) -> Bool {
        if store.mayBeBehind { return false }
        if try await store.disappearance() != nil { return false }
        return try await sample.value(at: now) { () async throws(Unavailability) in try await self.look(at: now) }
    }

    private func look(at now: Timestamp) async throws(Unavailability) -> Bool {
        if try await store.isHidingRows() { return false }
        let sessions = try await store.linkedSample(users: Limits.sampledUsers, at: now)
        var taker = CensusTaker()
        for (linked, sighting) in zip(sessions, try await store.sightings(of: sessions)) {
            taker.count(linked, IdentityWatch.judge(linked, sighting, store, .revocation, at: now), at: now)
        }
        let census = try await IdentityWatch.completed(taker.census, store)
        return !census.isMassDisappearance(above: vanishedPercentMax)
    }
}

/// One look at a time for all who ask meanwhile, and for those who ask within `Limits.sampleAge` after it.
final class SharedLook<Value: Sendable>: Sendable {
    private struct State {
        var isLooking = false
        var last: (value: Value, at: Timestamp)?
        var waiters: [UnsafeContinuation<Result<Value, Unavailability>?, Never>] = []
    }

    private let state = Locked(State())

    func value(
        at now: Timestamp, _ look: () async throws(Unavailability) -> Value
    ) async throws(Unavailability) -> Value {
        while true {
            let (known, isFirst) = state.withLock { state -> (Value?, Bool) in
                if let last = state.last, last.at <= now, now - last.at < Limits.sampleAge {
                    return (last.value, false)
                }
                defer { state.isLooking = true }
                return (nil, !state.isLooking)
            }
            if let known { return known }
            if isFirst {
                let outcome = await outcome(of: look)
                return try finish(outcome, at: now).get()
            }
            if let outcome = await nextOutcome() { return try outcome.get() }
        }
    }

    private func outcome(of look: () async throws(Unavailability) -> Value) async -> Result<Value, Unavailability> {
        do throws(Unavailability) { return .success(try await look()) } catch { return .failure(error) }
    }

    private func finish(_ outcome: Result<Value, Unavailability>, at now: Timestamp) -> Result<Value, Unavailability> {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            state.isLooking = false
            if case .success(let value) = outcome { state.last = (value, now) }
            return state.waiters
        }
        for waiter in waiters { waiter.resume(returning: outcome) }
        return outcome
    }

    /// `nil`: the look ended between the question and the wait.
    private func nextOutcome() async -> Result<Value, Unavailability>? {
        await withUnsafeContinuation { continuation in
            let isWaiting = state.withLock { state in
                if state.isLooking { state.waiters.append(continuation) }
                return state.isLooking
            }
            if !isWaiting { continuation.resume(returning: nil) }
        }
    }
}
