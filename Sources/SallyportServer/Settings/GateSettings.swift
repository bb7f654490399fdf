import AuthDomain

/// The verified gate as the settings have it (contract section 7). What is wrong with it refuses the start: a gate that
/// stands open lets unverified users synchronise, and nothing would say so.
extension Settings {
    func audiences(_ issuer: Issuer) -> [String] { audiences ?? [issuer.text, "powersync"] }

    /// Defaults that are not configured are dropped.
    func gate(_ issuer: Issuer) -> VerifiedGate {
        VerifiedGate(
            mode: gateMode, scopes: gatedScopes ?? ScopeSet(["sync"]).intersection(scopes),
            audiences: gatedAudiences ?? audiences(issuer).filter { $0 != issuer.text })
    }

    var gateProblems: [SettingProblem] {
        // Without an issuer nothing is served, and its absence is told by itself.
        guard let issuer else { return [] }
        let gate = gate(issuer)
        let audiences = audiences(issuer)
        var problems: [SettingProblem] = []
        for name in gate.scopes.subtracting(scopes).names {
            problems.append(
                SettingProblem(
                    name: "SALLYPORT_GATED_SCOPES",
                    message: "\(name) is not one of SALLYPORT_SCOPES (\(scopes)), so it would withhold nothing"))
        }
        for name in gate.audiences where !audiences.contains(name) {
            problems.append(
                SettingProblem(
                    name: "SALLYPORT_GATED_AUDIENCES",
                    message: "\(name) is not one of SALLYPORT_AUDIENCES (\(audiences.joined(separator: ", "))), so it "
                        + "would withhold nothing"))
        }
        if gate.audiences.contains(issuer.text) {
            problems.append(
                SettingProblem(
                    name: "SALLYPORT_GATED_AUDIENCES",
                    message: "the issuer cannot be withheld: a token without any other audience carries it"))
        }
        if gate.mode == .scopes, gate.scopes.isEmpty, gate.audiences.isEmpty {
            problems.append(
                SettingProblem(
                    name: "SALLYPORT_VERIFIED_GATE",
                    message: "scopes would withhold nothing from unverified users. Name what is withheld in "
                        + "SALLYPORT_GATED_SCOPES or SALLYPORT_GATED_AUDIENCES, or choose claim (they get every token, "
                        + "which says that they are unverified) or deny (they get none)"))
        }
        return problems
    }
}
