package import JOSE
import JSON
import Primitives

/// What this server gives, as a PowerSync configuration has to have it.
package struct PowerSyncTerms: Sendable {
    package let issuer: String
    package let audiences: [String]
    /// Of these, those that are withheld from unverified users; `nil` where no gate withholds any: every user that gets a
    /// token gets all of them.
    package let gatedAudiences: [String]?
    package let accessLifetime: Duration
    /// Public keys of access tokens; empty where they are not known.
    package let keys: [JWK]

    package init(
        issuer: String, audiences: [String], gatedAudiences: [String]?, accessLifetime: Duration, keys: [JWK]
    ) {
        self.issuer = issuer
        self.audiences = audiences
        self.gatedAudiences = gatedAudiences
        self.accessLifetime = accessLifetime
        self.keys = keys
    }

    var keySetAddress: String { issuer + "/.well-known/jwks.json" }

    /// Audiences that PowerSync may be given, the likeliest first: withheld from unverified users where that is what the
    /// gate does, and never the issuer's own where there is another.
    var candidates: [String] {
        let gated = audiences.filter { gatedAudiences?.contains($0) ?? true }
        let others = (gated.isEmpty ? audiences : gated).filter { $0 != issuer }
        let found = others.isEmpty ? audiences : others
        func isLikely(_ name: String) -> Bool { name.lowercased().hasText("sync") }
        return found.filter(isLikely) + found.filter { !isLikely($0) }
    }

    var audience: String { candidates.first ?? "powersync" }

    /// Whether tokens of unverified users have this audience. The issuer is in every token that would have none.
    func isOpen(_ audience: String) -> Bool {
        guard let gatedAudiences else { return false }
        return !gatedAudiences.contains { areIdentical($0, audience) }
            && (audiences + [issuer]).contains { areIdentical($0, audience) }
    }

    /// The block of PowerSync's configuration, with what it costs to get each line wrong.
    package var clientAuthBlock: String {
        let others = candidates.dropFirst()
        let choice = others.isEmpty ? "" : "\n    # Or, if PowerSync is that one: \(others.joined(separator: ", "))"
        let gate = gatedAudiences == nil ? "" : " Another one lets unverified users in."
        return """
            client_auth:
              # Seen from PowerSync's container. Wrong: PSYNC_S2204 or S2101, every token refused.
              jwks_uri: \(keySetAddress)
              # A list, letter by letter. Missing or wrong: PSYNC_S2105, every token refused.\(gate)
              audience:
                - \(audience)\(choice)
            """
    }

    package var facts: [String] {
        let kids = keys.map(\.kid)
        let gated = gatedAudiences.map { $0.isEmpty ? "none" : $0.joined(separator: ", ") }
        return [
            "key set   \(keySetAddress)",
            "kid       \(kids.isEmpty ? "not known without the database" : kids.joined(separator: ", "))",
            "audience  \(audiences.joined(separator: ", "))",
            "          withheld from unverified users: \(gated ?? "no audience (SALLYPORT_VERIFIED_GATE)")",
            "lifetime  \(accessLifetime.wholeSeconds) s (PowerSync takes up to 86400 s)",
        ]
    }

    /// What is wrong with our side of it.
    package var findings: [PowerSyncFinding] {
        var found: [PowerSyncFinding] = []
        if accessLifetime < .minutes(5) { found.append(PowerSyncFinding(.accessLifetimeShort, "SALLYPORT_ACCESS_TTL")) }
        if isOpen(audience) { found.append(PowerSyncFinding(.audienceOpen, audience)) }
        return found
    }
}

extension String {
    /// Whether the other text stands somewhere in this one, byte by byte.
    func hasText(_ other: String) -> Bool {
        let (bytes, wanted) = (Array(utf8), Array(other.utf8))
        guard bytes.count >= wanted.count else { return false }
        return (0...(bytes.count - wanted.count)).contains { bytes[$0...].starts(with: wanted) }
    }
}
