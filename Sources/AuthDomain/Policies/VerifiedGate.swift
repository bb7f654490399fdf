/// What an unverified user gets. It withholds; it never locks or wipes (contract section 7).
package struct VerifiedGate: Equatable, Sendable {
    package enum Mode: String, Sendable, CaseIterable {
        /// Reported in `email_verified` only.
        case claim
        /// The gated scopes and audiences are withheld together.
        case scopes
        /// No token at all.
        case deny
    }

    package let mode: Mode
    package let scopes: ScopeSet
    package let audiences: [String]

    package init(mode: Mode, scopes: ScopeSet, audiences: [String]) {
        self.mode = mode
        self.scopes = scopes
        self.audiences = audiences
    }
}

extension AuthPolicy {
    /// Scopes and audiences of an access token, `nil` where the gate lets none out.
    ///
    /// - Parameter wanted: what the session holds, or the part of it that was asked for.
    package func admit(_ wanted: ScopeSet, isVerified: Bool) -> (scopes: ScopeSet, audiences: [String])? {
        let isWithheld = !isVerified && gate.mode != .claim
        if isWithheld, gate.mode == .deny { return nil }
        // A list of what is open and not of what is gated: a session may hold a scope that the settings name no more.
        let open = scopes.subtracting(gate.scopes)
        let admitted = isWithheld ? wanted.intersection(open) : wanted
        guard !admitted.isEmpty else { return nil }
        // A gated audience goes with a gated scope, for a verified user too. Where no scope is gated it goes by the
        // verification alone.
        let isOpenAlone = isWithheld || !gate.scopes.isEmpty && open.contains(admitted)
        let audiences = isOpenAlone ? audiences.filter { !gate.audiences.contains($0) } : audiences
        return (admitted, audiences.isEmpty ? [issuer] : audiences)
    }
}
