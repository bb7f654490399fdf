/// Why a credential is refused: the closed list of contract section 5, as `error_reason` and as stored end reasons.
package enum RefusalReason: String, Sendable, CaseIterable {
    case refreshExpired = "refresh_expired"
    case refreshReused = "refresh_reused"
    case refreshStale = "refresh_stale"
    case sessionExpired = "session_expired"
    case sessionRevoked = "session_revoked"
    case sessionUnknown = "session_unknown"
    case superseded
    case signedOut = "signed_out"
    case deviceRevoked = "device_revoked"
    case deviceLost = "device_lost"
    case deviceSuspended = "device_suspended"
    case wipeOrdered = "wipe_ordered"
    case accountDeleted = "account_deleted"
    case userBanned = "user_banned"
    case tokenMalformed = "token_malformed"
    case tokenForeign = "token_foreign"
    case identityUnverified = "identity_unverified"
    case stepUpRequired = "step_up_required"
    case accessExpired = "access_expired"
    case accessRevoked = "access_revoked"
}

/// What the client is to do about a refusal. A client follows this and not the reason; it treats an unknown one as
/// `retry`.
package enum ClientAction: String, Sendable, CaseIterable {
    /// Delete local data.
    case wipe
    /// Hide data, keep the database and the queue, ask for sign-in.
    case lock
    /// Ask for sign-in, go on offline until `read_for` ends.
    case reauth
    case verify
    case stepUp = "step_up"
    case refresh
    case retry
    case none
}

/// How hard ends by a person's will are answered.
package enum VerdictPolicy: String, Sendable, CaseIterable {
    case careful
    /// `signed_out`, `session_revoked` and `account_deleted` wipe as well.
    case strict

    /// The action of a reason.
    ///
    /// - Parameter isDeviceHeld: the device itself is revoked, lost or ordered to wipe at this moment; only then do the
    ///   device's reasons wipe. A device that came back makes its older sessions say lock.
    package func action(for reason: RefusalReason, isDeviceHeld: Bool) -> ClientAction {
        switch reason {
        case .deviceRevoked, .deviceLost, .wipeOrdered: isDeviceHeld ? .wipe : .lock
        case .signedOut, .sessionRevoked, .accountDeleted: self == .strict ? .wipe : .lock
        case .refreshExpired, .refreshReused, .sessionExpired, .superseded, .userBanned, .deviceSuspended: .lock
        case .sessionUnknown, .tokenMalformed, .tokenForeign: .reauth
        case .refreshStale, .accessExpired, .accessRevoked: .refresh
        case .identityUnverified: .verify
        case .stepUpRequired: .stepUp
        }
    }
}
