package import Primitives

/// What a sighting says of a linked session: contract section 3's table, for sessions that nobody presents right now.
package enum SightingVerdict: Equatable, Sendable {
    case live(expiresAt: Timestamp)
    /// Run out, which is nobody's act, and nothing ends with it.
    case passive
    /// `session_revoked`, `account_deleted`, or `session_expired` where device sessions follow an expiry.
    case ended(RefusalReason)
    /// It could not be found out: the row cannot be read, or a replica that may be behind shows it.
    case unknown

    /// What of this may be believed if the store is a replica: that a session is there and lives at least as long as
    /// was known before. All else may be old.
    package func believedOfReplica(_ linked: LinkedSession) -> SightingVerdict {
        guard case .live(let expiresAt) = self, expiresAt >= linked.expiresAt else { return .unknown }
        return self
    }

    package static func judge(
        _ linked: LinkedSession, _ sighting: SessionSighting, follow: IdentityFollow, at now: Timestamp
    ) -> SightingVerdict {
        guard sighting.isReadable else { return .unknown }
        guard sighting.isUserThere else { return .ended(.accountDeleted) }
        let ranOut: SightingVerdict = follow == .session ? .ended(.sessionExpired) : .passive
        guard let expiresAt = sighting.expiresAt else {
            // A session that went missing in time does not turn into one that ran out while it is in doubt.
            return linked.isBelievedLive(at: now) ? .ended(.sessionRevoked) : ranOut
        }
        if expiresAt > now { return .live(expiresAt: expiresAt) }
        return expiresAt < linked.expiresAt ? .ended(.sessionRevoked) : ranOut
    }
}

/// What is done about a sighting. An end takes two reads, some time apart: one may have met a failover or a restore
/// half-way.
package enum SightingStep: Equatable, Sendable {
    case nothing
    /// Note the expiry, and forget a doubt.
    case keep(expiresAt: Timestamp)
    case doubt(RefusalReason)
    case end(RefusalReason)

    var isDoubt: Bool {
        switch self {
        case .doubt, .end: true
        case .nothing, .keep: false
        }
    }

    package static func next(
        _ linked: LinkedSession, _ verdict: SightingVerdict, at now: Timestamp
    ) -> SightingStep {
        switch verdict {
        case .live(let expiresAt):
            return linked.doubt == nil && linked.expiresAt == expiresAt ? .nothing : .keep(expiresAt: expiresAt)
        case .passive:
            return linked.doubt == nil ? .nothing : .keep(expiresAt: linked.expiresAt)
        case .ended(let reason):
            guard let doubt = linked.doubt, doubt.reason == reason else { return .doubt(reason) }
            // The clock was set back: the time between the two reads begins anew.
            if doubt.since > now { return .doubt(reason) }
            return now - doubt.since >= Limits.absenceConfirmation ? .end(reason) : .nothing
        case .unknown: return .nothing
        }
    }
}
