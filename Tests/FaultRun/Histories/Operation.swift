/// One call of a fault run, from its beginning to its answer. Tokens are named by a hash.
package struct Operation: Equatable, Sendable {
    package enum Kind: String, Sendable {
        case signIn = "sign_in"
        case refresh, revoke
        case keySet = "key_set"
        /// An access token held against the key set some time after it came.
        case verification
        /// A call that is no part of a family: rubbish, health.
        case other
    }

    package enum Actor: String, Sendable {
        /// Presents its newest stored token only: never deserves a refusal.
        case owner
        /// Its family may be ended by its own side at any moment: superseded, signed out.
        case contender
        /// Presents a copy that is three generations old or more.
        case thief
        /// At the end: the newest token of a family that nobody attacked.
        case leafProbe = "leaf_probe"
        /// At the end: an old token of such a family; the family dies.
        case ancestorProbe = "ancestor_probe"
        /// At the end: the newest token of a family whose ancestor was presented.
        case deadProbe = "dead_probe"
        /// The key set's reader.
        case verifier
    }

    package var kind: Kind
    package var actor: Actor
    /// The device session, or the installation of a sign-in whose session is not known yet.
    package var family: String
    /// Seconds on one monotonic clock.
    package var start: Double
    package var end: Double
    /// The number of the server that was asked.
    package var server: Int
    package var presentedGeneration: Int64?
    /// Of the idempotency key.
    package var keyHash: String?
    /// `nil`: no answer came, the outcome is unknown.
    package var status: Int?
    package var reason: String?
    package var action: String?
    /// Seconds.
    package var retryAfter: Int64?
    package var generation: Int64?
    package var tokenHash: String?
    /// Whether the access token verified against the key set; `nil` where there was none.
    package var isVerified: Bool?

    package init(
        _ kind: Kind, _ actor: Actor, family: String, server: Int = 0, presentedGeneration: Int64? = nil,
        start: Double, end: Double = 0
    ) {
        self.kind = kind
        self.actor = actor
        self.family = family
        self.server = server
        self.presentedGeneration = presentedGeneration
        self.start = start
        self.end = end
    }
}
