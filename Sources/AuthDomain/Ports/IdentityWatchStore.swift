package import Primitives

/// Linked sessions and what is thought of the identity store, for the watch. All servers see the same.
package protocol IdentityWatchStore: Sendable {
    /// Whether the identity store may be read from a replica, which can be behind: then it shows no end of anything.
    var mayBeBehind: Bool { get }

    /// Takes the turn to look, if the last one began at least `interval` ago. One server gets it.
    func claimTurn(every interval: Duration, at now: Timestamp) async throws(Unavailability) -> Bool

    /// Linked sessions without an end that rest on something: a live device session, or their own life. In the order
    /// of user and id, behind `previous`.
    ///
    /// - Parameter inDoubt: only those of users of whom a first read has doubted something.
    func linkedSessions(
        after previous: LinkedSession?, inDoubt: Bool, limit: Int, at now: Timestamp
    ) async throws(Unavailability) -> [LinkedSession]

    /// Linked sessions of random users, as `linkedSessions` has them and in its order; some of each user, at most.
    func linkedSample(users: Int, at now: Timestamp) async throws(Unavailability) -> [LinkedSession]

    /// What the identity store has of these sessions, in their order.
    func sightings(of sessions: [LinkedSession]) async throws(Unavailability) -> [SessionSighting]

    /// Writes expiries and doubts down; `.end` and `.nothing` are left alone.
    func note(_ steps: [(LinkedSession, SightingStep)], at now: Timestamp) async throws(Unavailability)

    /// Ends what is still in doubt for this reason, unless a disappearance is in force: the sessions' device sessions,
    /// and the sessions themselves but for `session_expired`.
    func endDoubted(_ sessionIDs: [String], reason: RefusalReason, at now: Timestamp) async throws(Unavailability)

    /// Notes that a look has read everything.
    func noteCompletion(at now: Timestamp) async throws(Unavailability)

    /// Whether one of the two tables shows no row although the catalog says that there are some: a view or row-level
    /// security hides them.
    func isHidingRows() async throws(Unavailability) -> Bool

    /// Whether each of the two tables shows any row.
    func emptyTables() async throws(Unavailability) -> (session: Bool, user: Bool)

    /// Whether one of the two tables is certainly not there.
    func isTableMissing() async throws(Unavailability) -> Bool

    /// The disappearance that is in force.
    func disappearance() async throws(Unavailability) -> IdentityDisappearance?

    /// Puts a disappearance in force, unless one is.
    func declare(_ disappearance: IdentityDisappearance, at now: Timestamp) async throws(Unavailability)

    /// The operator says that it is real: ends all that is in doubt, and believes the store again.
    /// Returns how many sessions were in doubt; `nil` where no disappearance was in force.
    func confirmDisappearance(at now: Timestamp) async throws(Unavailability) -> Int?

    /// The operator says that it was not: forgets all doubts. `false` where no disappearance was in force.
    func dismissDisappearance(at now: Timestamp) async throws(Unavailability) -> Bool
}
