package import Primitives

/// How many linked sessions and users a look at the identity store has missed.
package struct IdentityCensus: Equatable, Sendable {
    /// Linked sessions that should be there, and those of them that are not.
    package var knownSessions = 0
    package var vanishedSessions = 0
    /// Users of linked sessions, and those of them without a row.
    package var knownUsers = 0
    package var vanishedUsers = 0
    /// Users of the sessions that should be there.
    package var liveUsers = 0
    package var isSessionTableEmpty = false
    package var isUserTableEmpty = false

    package init() {}

    /// A broken database or a wrong mapping, not a fleet of sign-outs: no verdict may rest on it.
    package func isMassDisappearance(above percent: Int) -> Bool {
        func isMany(_ vanished: Int, of known: Int) -> Bool {
            vanished >= Limits.vanishedMin && vanished * 100 > known * percent
        }
        if liveUsers >= 2, isSessionTableEmpty || isUserTableEmpty { return true }
        return isMany(vanishedSessions, of: knownSessions) || isMany(vanishedUsers, of: knownUsers)
    }
}

/// Counts sightings, in the order of their users.
package struct CensusTaker: Sendable {
    package private(set) var census = IdentityCensus()
    private var userID: String?
    private var hasLiveSession = false

    package init() {}

    package mutating func count(_ linked: LinkedSession, _ verdict: SightingVerdict, at now: Timestamp) {
        if linked.userID != userID {
            userID = linked.userID
            hasLiveSession = false
            census.knownUsers += 1
            if verdict == .ended(.accountDeleted) { census.vanishedUsers += 1 }
        }
        guard linked.isBelievedLive(at: now) else { return }
        census.knownSessions += 1
        if verdict == .ended(.accountDeleted) || verdict == .ended(.sessionRevoked) { census.vanishedSessions += 1 }
        if !hasLiveSession { census.liveUsers += 1 }
        hasLiveSession = true
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
