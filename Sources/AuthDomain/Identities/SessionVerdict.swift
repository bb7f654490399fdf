package import Primitives

/// What the identity store's rows say of a session that somebody presents: contract section 3's table, for exchanges.
package enum SessionVerdict: Equatable, Sendable {
    case live(IdentitySession, IdentityUser)
    /// `isDeviceHeld`: a device that the session was exchanged with is held at this moment; see `VerdictPolicy`.
    case refused(RefusalReason, deviceID: UUID?, isDeviceHeld: Bool = false)

    /// - Parameters:
    ///   - session: the row, `nil` when there is certainly none.
    ///   - user: its user's row, or that of the session as we remember it; `nil` when there is certainly none.
    ///   - link: what we remember of the session.
    package static func judge(
        session: IdentitySession?, user: IdentityUser?, link: SessionLink?, at now: Timestamp
    ) -> SessionVerdict {
        // The ties come first: a device that was revoked or lost stays out whatever else is true of the session.
        if let tie = link?.ties.first(where: { $0.status.holdsReason != nil }), let reason = tie.status.holdsReason {
            return .refused(reason, deviceID: tie.deviceID, isDeviceHeld: true)
        }
        // Also the end that a revocation left behind: when the device is active again, its older sessions stay out.
        if let end = link?.end { return .refused(end, deviceID: link?.deviceID) }
        guard let session else {
            guard let link else { return .refused(.sessionUnknown, deviceID: nil) }
            guard user != nil else { return .refused(.accountDeleted, deviceID: link.deviceID) }
            return .refused(link.expiresAt > now ? .sessionRevoked : .sessionExpired, deviceID: link.deviceID)
        }
        guard session.expiresAt > now else {
            // Moved backwards into the past is somebody's act; run out is nobody's.
            let wasMovedBack = link.map { session.expiresAt < $0.expiresAt } ?? false
            return .refused(wasMovedBack ? .sessionRevoked : .sessionExpired, deviceID: link?.deviceID)
        }
        guard let user else { return .refused(.accountDeleted, deviceID: link?.deviceID) }
        if user.isBanned(at: now) { return .refused(.userBanned, deviceID: link?.deviceID) }
        if let tie = link?.ties.first(where: { $0.status == .suspended }) {
            return .refused(.deviceSuspended, deviceID: tie.deviceID)
        }
        return .live(session, user)
    }
}
