package import Primitives

/// How many users a look at the identity store has missed.
package struct IdentityCensus: Equatable, Sendable {
    /// Users of linked sessions, and those of them who have vanished: without a row, or with none left of the sessions
    /// that should be there.
    package var knownUsers = 0
    package var vanishedUsers = 0
    /// Users of the sessions that should be there.
    package var liveUsers = 0
    /// Linked sessions that should be there, and those of them that are not: for people, nothing is decided by them.
    package var knownSessions = 0
    package var vanishedSessions = 0
    package var isSessionTableEmpty = false
    package var isUserTableEmpty = false

    package init() {}

    /// A broken database or a wrong mapping, not a fleet of sign-outs: no verdict may rest on it. Users are counted, so
    /// that one of them with many sessions weighs no more than another.
    package func isMassDisappearance(above percent: Int) -> Bool {
        if liveUsers >= 2, isSessionTableEmpty || isUserTableEmpty { return true }
        return vanishedUsers >= Limits.vanishedMin && vanishedUsers * 100 > knownUsers * percent
    }
}

/// Counts sightings, in the order of their users.
package struct CensusTaker: Sendable {
    private struct User {
        let id: String
        var isGone = false
        var known = 0
        var vanished = 0
    }

    private var finished = IdentityCensus()
    private var user: User?

    package init() {}

    package var census: IdentityCensus {
        var census = finished
        guard let user else { return census }
        census.knownUsers += 1
        if user.known > 0 { census.liveUsers += 1 }
        if user.isGone || user.known > 0 && user.vanished == user.known { census.vanishedUsers += 1 }
        census.knownSessions += user.known
        census.vanishedSessions += user.vanished
        return census
    }

    package mutating func count(_ linked: LinkedSession, _ verdict: SightingVerdict, at now: Timestamp) {
        if user?.id != linked.userID {
            finished = census
            user = User(id: linked.userID)
        }
        let isUserGone = verdict == .ended(.accountDeleted)
        if isUserGone { user?.isGone = true }
        guard linked.isBelievedLive(at: now) else { return }
        user?.known += 1
        if isUserGone || verdict == .ended(.sessionRevoked) { user?.vanished += 1 }
    }
}

/// Why the ends that the identity store shows are not believed.
package struct IdentityDisappearance: Equatable, Sendable {
    package enum Cause: String, Sendable, CaseIterable {
        /// Too many rows at once, or all of a table's.
        case rows
        /// A table is not there.
        case table
    }

    package let cause: Cause
    package let census: IdentityCensus

    package init(cause: Cause, census: IdentityCensus) {
        self.cause = cause
        self.census = census
    }
}
