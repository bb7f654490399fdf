import AuthDomain
import Testing

@Suite("Scopes")
struct ScopeSetTests {
    @Test(
        "names are kept in order, each once",
        arguments: [
            ("api sync", ["api", "sync"]), ("sync api", ["sync", "api"]), ("a a b a", ["a", "b"]),
            ("  a   b ", ["a", "b"]),
            ("https://x/y!#$%&'()*+,-./:;<=>?@[]^_`{|}~", ["https://x/y!#$%&'()*+,-./:;<=>?@[]^_`{|}~"]),
        ])
    func parsed(text: String, names: [String]) {
        #expect(ScopeSet(parsing: text)?.names == names)
    }

    @Test(
        "nothing, and what RFC 6749 does not allow, is refused",
        arguments: [
            "", " ", "   ", "a\"b", "a\\b", "a\tb", "a\nb", "a\u{0}", "ä", "a\u{7f}",
        ])
    func refused(text: String) {
        #expect(ScopeSet(parsing: text) == nil)
    }

    @Test("containing and subtracting look at names, not at order")
    func algebra() {
        let both = ScopeSet(["api", "sync"])
        #expect(both.contains(ScopeSet(["sync", "api"])))
        #expect(both.contains(ScopeSet([])))
        #expect(!both.contains(ScopeSet(["api", "admin"])))
        #expect(!ScopeSet([]).contains(both))
        #expect(both.subtracting(ScopeSet(["api", "x"])).names == ["sync"])
        #expect(both.subtracting(both).isEmpty)
        #expect(both.description == "api sync")
    }
}

@Suite("Verified gate")
struct VerifiedGateTests {
    private func admit(
        _ mode: VerifiedGate.Mode, _ scopes: [String] = ["api", "sync"], _ audiences: [String] = ["api", "powersync"],
        gated: [String] = ["sync"], isVerified: Bool = false
    ) -> [[String]]? {
        var policy = TokenStack().policy
        policy.audiences = audiences
        policy.gate = VerifiedGate(mode: mode, scopes: ScopeSet(gated), audiences: ["powersync"])
        return policy.admit(ScopeSet(scopes), isVerified: isVerified).map { [$0.scopes.names, $0.audiences] }
    }

    @Test("a verified user passes every mode whole", arguments: VerifiedGate.Mode.allCases)
    func verified(mode: VerifiedGate.Mode) {
        #expect(admit(mode, isVerified: true) == [["api", "sync"], ["api", "powersync"]])
    }

    @Test("an unverified one passes 'claim' whole, 'scopes' without the gated scopes and audiences, 'deny' never")
    func unverified() {
        #expect(admit(.claim) == [["api", "sync"], ["api", "powersync"]])
        #expect(admit(.scopes) == [["api"], ["api"]])
        #expect(admit(.scopes, ["api"]) == [["api"], ["api"]])
        #expect(admit(.deny) == nil)
        #expect(admit(.deny, ["api"], ["api"]) == nil)
    }

    @Test("where no scope is left the gate lets no token out, and where no audience is it carries the issuer")
    func nothingLeft() {
        #expect(admit(.scopes, ["sync"]) == nil)
        #expect(admit(.scopes, ["api"], ["powersync"]) == [["api"], ["https://auth.example.com"]])
    }

    @Test(
        "a token without a gated scope carries no gated audience, in every mode", arguments: VerifiedGate.Mode.allCases)
    func narrowed(mode: VerifiedGate.Mode) {
        #expect(admit(mode, ["api"], isVerified: true) == [["api"], ["api"]])
        #expect(admit(mode, ["sync"], isVerified: true) == [["sync"], ["api", "powersync"]])
        #expect(admit(mode, ["api"], ["powersync"], isVerified: true) == [["api"], ["https://auth.example.com"]])
        #expect(admit(mode, ["api"], gated: [], isVerified: true) == [["api"], ["api", "powersync"]])
    }

    @Test("a scope that a session holds and the settings name no more is withheld like a gated one")
    func renamed() {
        #expect(admit(.scopes, ["api", "old"]) == [["api"], ["api"]])
        #expect(admit(.scopes, ["old"]) == nil)
        #expect(admit(.scopes, ["api", "old"], isVerified: true) == [["api", "old"], ["api", "powersync"]])
    }
}

@Suite("Verdict policy: contract section 5's table")
struct VerdictPolicyTests {
    /// Reason, what `careful` says, what `strict` says; of a device that is not held.
    private static let table: [(RefusalReason, careful: ClientAction, strict: ClientAction)] = [
        (.refreshExpired, .lock, .lock), (.sessionExpired, .lock, .lock), (.refreshReused, .lock, .lock),
        (.signedOut, .lock, .wipe), (.sessionRevoked, .lock, .wipe), (.superseded, .lock, .lock),
        (.deviceRevoked, .lock, .lock), (.deviceLost, .lock, .lock), (.wipeOrdered, .lock, .lock),
        (.accountDeleted, .lock, .wipe), (.userBanned, .lock, .lock), (.deviceSuspended, .lock, .lock),
        (.tokenMalformed, .reauth, .reauth), (.tokenForeign, .reauth, .reauth), (.sessionUnknown, .reauth, .reauth),
        (.refreshStale, .refresh, .refresh), (.identityUnverified, .verify, .verify),
        (.stepUpRequired, .stepUp, .stepUp), (.accessExpired, .refresh, .refresh),
        (.accessRevoked, .refresh, .refresh),
    ]
    private static let ofHeldDevices: Set<RefusalReason> = [.deviceRevoked, .deviceLost, .wipeOrdered]

    @Test("each reason has the table's action, in each policy, with the device held or not")
    func whole() {
        #expect(Set(Self.table.map(\.0)) == Set(RefusalReason.allCases))
        for (reason, careful, strict) in Self.table {
            for isHeld in [true, false] {
                let wipes = isHeld && Self.ofHeldDevices.contains(reason)
                #expect(
                    VerdictPolicy.careful.action(for: reason, isDeviceHeld: isHeld) == (wipes ? .wipe : careful),
                    "\(reason)")
                #expect(
                    VerdictPolicy.strict.action(for: reason, isDeviceHeld: isHeld) == (wipes ? .wipe : strict),
                    "\(reason)")
            }
        }
    }

    @Test(
        "in no policy do these wipe",
        arguments: [
            RefusalReason.refreshExpired, .sessionExpired, .refreshReused, .superseded, .userBanned, .deviceSuspended,
            .tokenMalformed, .tokenForeign, .sessionUnknown,
        ])
    func neverWipes(reason: RefusalReason) {
        for policy in VerdictPolicy.allCases {
            for isHeld in [true, false] {
                #expect(policy.action(for: reason, isDeviceHeld: isHeld) != .wipe)
            }
        }
    }

    @Test("the names on the wire are the contract's")
    func names() {
        #expect(
            RefusalReason.allCases.map(\.rawValue) == [
                "refresh_expired", "refresh_reused", "refresh_stale", "session_expired", "session_revoked",
                "session_unknown", "superseded", "signed_out", "device_revoked", "device_lost", "device_suspended",
                "wipe_ordered", "account_deleted", "user_banned", "token_malformed", "token_foreign",
                "identity_unverified", "step_up_required", "access_expired", "access_revoked",
            ])
        #expect(
            ClientAction.allCases.map(\.rawValue) == [
                "wipe", "lock", "reauth", "verify", "step_up", "refresh", "retry", "none",
            ])
    }
}
