package import Primitives

/// What is to happen with a presented refresh token: table 2.3 of the contract, row by row, as one pure function.
///
/// The caller has proved signature, type, issuer, audience and the derived `jti`; nothing is looked up or changed here.
package enum RefreshDecision: Equatable, Sendable {
    /// Row 1.
    case ended(RefusalReason)
    /// Row 2.
    case expired
    /// Rows 3 and 9: make this the current generation. `isRestored`: it was above ours, a failover or a restored backup
    /// lost our last commits.
    case rotate(to: Int64, isRestored: Bool)
    /// Rows 4, 5 and 6: the current refresh token, byte for byte, and a fresh access token.
    case replay(ReplayCause)
    /// Row 7: a late duplicate of its own rotation. Nothing ends.
    case stale
    /// Row 8: this device session ends.
    case reused

    package enum ReplayCause: String, Sendable {
        case sameKey = "same_key"
        case keyless
        case concurrency
    }

    /// - Parameters:
    ///   - presented: the generation of the presented token.
    ///   - tokenExpiresAt: its own `exp`.
    ///   - keyHash: of the request's `Idempotency-Key`, if it has one.
    package static func decide(
        presented: Int64, tokenExpiresAt: Timestamp, keyHash: [UInt8]?, state: RotationState,
        windows: RotationWindows, at now: Timestamp
    ) -> RefreshDecision {
        if let end = state.end { return .ended(end) }
        if tokenExpiresAt <= now || state.expiresAt <= now { return .expired }

        let behind = state.generation - presented
        if behind == 0 { return .rotate(to: presented + 1, isRestored: false) }
        if behind < 0 { return .rotate(to: presented + 1, isRestored: true) }

        let age = now - state.rotatedAt
        let isSameKey = isKey(keyHash, thatRotated: presented, in: state)
        if behind == 1, isSameKey { return .replay(.sameKey) }
        if behind == 1, !state.hasSeenKey, age <= windows.replay { return .replay(.keyless) }
        if behind <= 2, age <= windows.concurrency { return .replay(.concurrency) }
        if behind >= 2, behind <= Limits.rotationKeysKept, isSameKey { return .stale }
        return .reused
    }

    private static func isKey(_ hash: [UInt8]?, thatRotated presented: Int64, in state: RotationState) -> Bool {
        guard let hash, let stored = state.key(thatRotated: presented) else { return false }
        return areEqualInConstantTime(hash, stored)
    }
}

/// What a refresh that was answered has done; for whoever counts.
package enum RefreshOutcome: Equatable, Sendable {
    case rotated
    /// Row 9: our last commits were lost.
    case restored
    case replayed(RefreshDecision.ReplayCause)

    package var word: String {
        switch self {
        case .rotated: "rotated"
        case .restored: "restored"
        case .replayed(let cause): "replayed_" + cause.rawValue
        }
    }
}
