package import Primitives

/// A user as the identity store has it at this moment; read at every mint.
package struct IdentityUser: Equatable, Sendable {
    package let id: String
    package let name: String?
    package let email: String?
    package let isVerified: Bool
    package let ban: Ban?

    package struct Ban: Equatable, Sendable {
        /// `nil`: without end.
        package let until: Timestamp?

        package init(until: Timestamp?) { self.until = until }
    }

    package init(id: String, name: String?, email: String?, isVerified: Bool, ban: Ban?) {
        self.id = id
        self.name = name
        self.email = email
        self.isVerified = isVerified
        self.ban = ban
    }

    package func isBanned(at now: Timestamp) -> Bool {
        guard let ban else { return false }
        return ban.until.map { $0 > now } ?? true
    }
}

/// A sign-in as the identity store has it at this moment.
package struct IdentitySession: Equatable, Sendable {
    package let id: String
    package let userID: String
    package let createdAt: Timestamp
    package let expiresAt: Timestamp
    package let impersonatedBy: String?

    package init(id: String, userID: String, createdAt: Timestamp, expiresAt: Timestamp, impersonatedBy: String?) {
        self.id = id
        self.userID = userID
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.impersonatedBy = impersonatedBy
    }
}

/// What we remember of a session that was presented before (`identity_sessions`).
package struct SessionLink: Equatable, Sendable {
    package let sessionID: String
    package let userID: String
    package let firstSeenAt: Timestamp
    /// The last one read from the identity store.
    package let expiresAt: Timestamp
    /// The device that `GET /auth/token` is bound to.
    package let deviceID: UUID?
    /// Signed out with us, though its row lives on.
    package let end: RefusalReason?
    /// Every device the session was ever exchanged with.
    package let ties: [Tie]

    package struct Tie: Equatable, Sendable {
        package let deviceID: UUID
        package let status: DeviceStatus

        package init(deviceID: UUID, status: DeviceStatus) {
            self.deviceID = deviceID
            self.status = status
        }
    }

    package init(
        sessionID: String, userID: String, firstSeenAt: Timestamp, expiresAt: Timestamp, deviceID: UUID?,
        end: RefusalReason?, ties: [Tie]
    ) {
        self.sessionID = sessionID
        self.userID = userID
        self.firstSeenAt = firstSeenAt
        self.expiresAt = expiresAt
        self.deviceID = deviceID
        self.end = end
        self.ties = ties
    }
}
