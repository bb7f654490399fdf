package import Primitives

package enum DeviceStatus: String, Sendable, CaseIterable {
    case active
    case revoked
    case lost
    case wipeOrdered = "wipe_ordered"
    /// A check at every mint, not an end.
    case suspended

    /// The reason of a device that must not be used and whose data is to be wiped; `nil` for the others.
    package var holdsReason: RefusalReason? {
        switch self {
        case .active, .suspended: nil
        case .revoked: .deviceRevoked
        case .lost: .deviceLost
        case .wipeOrdered: .wipeOrdered
        }
    }
}

/// One installation of an app by one user.
package struct Device: Equatable, Sendable {
    package let id: UUID
    package let userID: String
    package let metadata: DeviceMetadata
    package let status: DeviceStatus
    package let statusAt: Timestamp
    package let createdAt: Timestamp
    package let lastSeenAt: Timestamp
    package let lastSyncAt: Timestamp?
    package let isPushRegistered: Bool
    /// It was in the way of another device of its user: not listed and not counted until it signs in again.
    package let hasGivenWay: Bool

    package init(
        id: UUID, userID: String, metadata: DeviceMetadata, status: DeviceStatus, statusAt: Timestamp,
        createdAt: Timestamp, lastSeenAt: Timestamp, lastSyncAt: Timestamp?, isPushRegistered: Bool,
        hasGivenWay: Bool = false
    ) {
        self.id = id
        self.userID = userID
        self.metadata = metadata
        self.status = status
        self.statusAt = statusAt
        self.createdAt = createdAt
        self.lastSeenAt = lastSeenAt
        self.lastSyncAt = lastSyncAt
        self.isPushRegistered = isPushRegistered
        self.hasGivenWay = hasGivenWay
    }

    /// Whether a sign-in on this device may go on, and whether it brings the device back.
    ///
    /// Only a session that we had not seen at the revocation and that was made after it proves that the owner signed in
    /// anew. A lost device stays lost until its user clears it from another one.
    package func admission(of session: IdentitySession, firstSeenAt: Timestamp?) -> Admission {
        switch status {
        case .active: return .asIs
        case .suspended: return .refused(.deviceSuspended)
        case .lost: return .refused(.deviceLost)
        case .revoked, .wipeOrdered:
            let isNew = session.createdAt > statusAt && (firstSeenAt.map { $0 > statusAt } ?? true)
            return isNew ? .reactivates : .refused(status == .revoked ? .deviceRevoked : .wipeOrdered)
        }
    }

    package enum Admission: Equatable, Sendable {
        case asIs
        case reactivates
        case refused(RefusalReason)
    }
}
