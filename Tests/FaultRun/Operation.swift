/// One call of a fault run, from its beginning to its answer. Tokens are named by a hash.
package struct Operation: Sendable {
    package enum Kind: String, Sendable {
        case signIn, refresh, revoke, keySet
    }

    package enum Actor: String, Sendable {
        /// Presents its newest stored token only: never deserves a refusal.
        case owner
        /// Presents a copy that is two generations old or more, after the windows.
        case thief
        /// At the end: the newest token of a family that nobody attacked.
        case leafProbe
        /// At the end: an old token of such a family; the family dies.
        case ancestorProbe
        /// At the end: the newest token of a family whose ancestor was presented.
        case deadProbe
        /// The key set's reader.
        case verifier
    }

    package var kind: Kind
    package var actor: Actor
    /// The device session, or the device of a sign-in whose session is not known yet.
    package var family: String
    /// Seconds on one monotonic clock.
    package var start: Double
    package var end: Double
    package var server: String
    package var presentedGeneration: Int64?
    /// `nil`: no answer came, the outcome is unknown.
    package var status: Int?
    package var reason: String?
    package var action: String?
    package var hasRetryAfter = false
    package var generation: Int64?
    package var tokenHash: String?
    /// Whether the access token of the answer verified against the key set; `nil` where there was none.
    package var isVerified: Bool?

    package init(
        _ kind: Kind, _ actor: Actor, family: String, server: String, presentedGeneration: Int64? = nil,
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

/// A time in which a fault was on.
package struct FaultWindow: Sendable {
    package let name: String
    package let start: Double
    package let end: Double
    /// Whether the servers could answer nothing but 503, or nothing at all.
    package let mayRefuse: Bool

    package init(_ name: String, start: Double, end: Double, mayRefuse: Bool) {
        self.name = name
        self.start = start
        self.end = end
        self.mayRefuse = mayRefuse
    }
}

/// What a run has seen.
package struct History: Sendable {
    package var operations: [Operation]
    package var faults: [FaultWindow]

    package init(operations: [Operation] = [], faults: [FaultWindow] = []) {
        self.operations = operations
        self.faults = faults
    }
}
