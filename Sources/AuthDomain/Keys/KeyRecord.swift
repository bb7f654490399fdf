package import Primitives

/// What is known of a key without the key: decisions about its life rest on this alone.
package struct KeyRecord: Equatable, Sendable {
    package let kid: String
    package let purpose: KeyPurpose
    package let state: KeyState
    /// When it became known to every server, and an access key published.
    package let createdAt: Timestamp
    /// When the present state began.
    package let stateAt: Timestamp
    /// The longest that any server gives a token of it.
    package let tokenLifetime: Duration

    package init(
        kid: String, purpose: KeyPurpose, state: KeyState, createdAt: Timestamp, stateAt: Timestamp,
        tokenLifetime: Duration
    ) {
        self.kid = kid
        self.purpose = purpose
        self.state = state
        self.createdAt = createdAt
        self.stateAt = stateAt
        self.tokenLifetime = tokenLifetime
    }

    /// When the last token that a retired key signed is dead for certain: other servers may have signed on for a moment,
    /// and clocks differ.
    package var lastTokenEndsAt: Timestamp {
        stateAt + Limits.keyFollowing + tokenLifetime + Limits.clockSkew
    }

    /// When a retired key may leave the key set. Contract section 2.5: the last token's end, and the hour that a verifier
    /// keeps a set which it cannot fetch anew.
    package var heldUntil: Timestamp { lastTokenEndsAt + Limits.keyHold }
}

/// The keys of one moment as they are told to operators and metrics.
package struct KeyInventory: Equatable, Sendable {
    /// Of `next`, `current` and `retired` keys.
    package let records: [KeyRecord]
    /// Keys and secrets that no configured key-encryption key opens, by their names in the database.
    package let unreadable: [String]

    package init(records: [KeyRecord], unreadable: [String]) {
        self.records = records
        self.unreadable = unreadable
    }
}
