package import Primitives

/// A session of the identity store that something of ours still rests on, as we last knew it.
package struct LinkedSession: Equatable, Sendable {
    package let id: String
    package let userID: String
    /// The last one read from the identity store.
    package let expiresAt: Timestamp
    /// Set while a first read has found an end and no second one has confirmed it.
    package let doubt: Doubt?

    /// An end that one read has found.
    package struct Doubt: Equatable, Sendable {
        package let reason: RefusalReason
        package let since: Timestamp

        package init(reason: RefusalReason, since: Timestamp) {
            self.reason = reason
            self.since = since
        }
    }

    package init(id: String, userID: String, expiresAt: Timestamp, doubt: Doubt?) {
        self.id = id
        self.userID = userID
        self.expiresAt = expiresAt
        self.doubt = doubt
    }

    /// Whether it should be there: what a disappearance is measured by.
    package func isBelievedLive(at now: Timestamp) -> Bool {
        expiresAt > (doubt?.since ?? now)
    }
}

/// What one read of the identity store has found of a linked session. A read that failed is none of these.
package struct SessionSighting: Equatable, Sendable {
    /// `nil`: there is certainly no row of this id and this user.
    package let expiresAt: Timestamp?
    package let isUserThere: Bool
    /// `false` where the row holds a value that says nothing, or the id has a form that the store's ids cannot have.
    package let isReadable: Bool

    package init(expiresAt: Timestamp?, isUserThere: Bool, isReadable: Bool = true) {
        self.expiresAt = expiresAt
        self.isUserThere = isUserThere
        self.isReadable = isReadable
    }

    package static let unreadable = SessionSighting(expiresAt: nil, isUserThere: true, isReadable: false)
}

/// Which ends of a session end its device sessions (`SALLYPORT_IDENTITY_FOLLOW`).
package enum IdentityFollow: String, Sendable, CaseIterable {
    /// Somebody's act only: a device session lives by its own lifetime.
    case revocation
    /// A passive expiry as well.
    case session
}
