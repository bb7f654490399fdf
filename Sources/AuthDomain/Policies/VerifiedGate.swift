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

    /// Scopes and audiences of an access token, `nil` where the gate lets none out.
    package func admit(
        scopes wanted: ScopeSet, audiences: [String], isVerified: Bool
    ) -> (scopes: ScopeSet, audiences: [String])? {
        if isVerified || mode == .claim { return (wanted, audiences) }
        guard mode == .scopes else { return nil }
        let admitted = (wanted.subtracting(scopes), audiences.filter { !self.audiences.contains($0) })
        return admitted.0.isEmpty || admitted.1.isEmpty ? nil : admitted
    }
}
