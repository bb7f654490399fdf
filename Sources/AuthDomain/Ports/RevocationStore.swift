package import Primitives

/// What has ended, in the order of becoming visible.
package protocol RevocationStore: Sendable {
    /// What became visible since a cursor, or all that still matters where there is none.
    ///
    /// - Parameters:
    ///   - cursor: of an earlier page; text from outside.
    ///   - accessLifetime: of the tokens of a session that has ended.
    func revocations(
        since cursor: String?, accessLifetime: Duration, at now: Timestamp
    ) async throws(Unavailability) -> RevocationPage
}

/// One end that verifiers without a database have to know of until `expiresAt`.
package struct Revocation: Equatable, Sendable {
    package enum Subject: Equatable, Sendable {
        /// A device session's id, or `s_…`: every token with this `sid`.
        case session(String)
        /// The `jti` of one access token.
        case token(String)
    }

    package let subject: Subject
    package let deviceID: UUID?
    /// A word of contract section 5.
    package let reason: String
    package let revokedAt: Timestamp
    package let expiresAt: Timestamp

    package init(subject: Subject, deviceID: UUID?, reason: String, revokedAt: Timestamp, expiresAt: Timestamp) {
        self.subject = subject
        self.deviceID = deviceID
        self.reason = reason
        self.revokedAt = revokedAt
        self.expiresAt = expiresAt
    }
}

package struct RevocationPage: Equatable, Sendable {
    /// Where the next page begins; never past an entry that can still commit.
    package let cursor: String
    package let revocations: [Revocation]
    /// The cursor that was given could not be used: this is the whole list.
    package let isReset: Bool

    package init(cursor: String, revocations: [Revocation], isReset: Bool) {
        self.cursor = cursor
        self.revocations = revocations
        self.isReset = isReset
    }
}
