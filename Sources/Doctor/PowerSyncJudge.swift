package import JOSE
import JSON
import Outbound
import Primitives

/// What this server gives, as a PowerSync configuration has to have it.
package struct PowerSyncTerms: Sendable {
    package let issuer: String
    package let audiences: [String]
    package let accessLifetime: Duration
    /// Public keys of access tokens; empty where they are not known.
    package let keys: [JWK]

    package init(issuer: String, audiences: [String], accessLifetime: Duration, keys: [JWK]) {
        self.issuer = issuer
        self.audiences = audiences
        self.accessLifetime = accessLifetime
        self.keys = keys
    }

    var keySetAddress: String { issuer + "/.well-known/jwks.json" }

    /// The audience to configure: one that is not the issuer's own, where there is one.
    var audience: String { audiences.first { $0 != issuer } ?? audiences.first ?? "powersync" }

    /// The block of PowerSync's configuration, with what it costs to get each line wrong.
    package var clientAuthBlock: String {
        """
        client_auth:
          # Seen from PowerSync's container. Wrong: PSYNC_S2204 or S2101, every token refused. Never `supabase: true` beside it.
          jwks_uri: \(keySetAddress)
          # Letter by letter one of SALLYPORT_AUDIENCES. Missing or wrong: PSYNC_S2105, every token refused.
          audience:
            - \(audience)
        """
    }

    package var facts: [String] {
        let kids = keys.map(\.kid)
        return [
            "key set   \(keySetAddress)",
            "kid       \(kids.isEmpty ? "not known without the database" : kids.joined(separator: ", "))",
            "audience  \(audiences.joined(separator: ", "))",
            "lifetime  \(accessLifetime.wholeSeconds) s (PowerSync takes up to 86400 s)",
        ]
    }
}

/// Reads a PowerSync configuration against our terms. Pure: nothing is fetched.
package struct PowerSyncJudge {
    package let terms: PowerSyncTerms

    package init(terms: PowerSyncTerms) { self.terms = terms }

    package func findings(config text: String?) -> [PowerSyncFinding] {
        guard let text else { return [PowerSyncFinding(.configUnreadable)] }
        let document: YAMLValue
        do throws(YAMLReader.Fault) {
            document = try YAMLReader.read(text)
        } catch {
            return [PowerSyncFinding(.configUnreadable, "line \(error.line) \(error.sentence)")]
        }
        guard let auth = document["client_auth"], case .mapping = auth else { return [PowerSyncFinding(.noClientAuth)] }
        return supabase(auth) + addresses(auth) + audiences(auth) + keys(auth) + values(auth)
    }

    private func supabase(_ auth: YAMLValue) -> [PowerSyncFinding] {
        var found: [PowerSyncFinding] = []
        if auth["supabase"]?.text == "true" {
            found.append(PowerSyncFinding(.supabaseEnabled))
            if auth["audience"] != nil { found.append(PowerSyncFinding(.supabaseReplacesAudience)) }
            if auth["jwks_uri"] != nil { found.append(PowerSyncFinding(.supabaseBesideJWKS)) }
        }
        if auth["supabase_jwt_secret"] != nil { found.append(PowerSyncFinding(.supabaseSecret)) }
        return found
    }

    private func addresses(_ auth: YAMLValue) -> [PowerSyncFinding] {
        let addresses = auth["jwks_uri"]?.elements ?? []
        let hasOwnKey = auth["jwks"]?["keys"]?.elements.contains(where: isOurs) ?? false
        if addresses.isEmpty { return hasOwnKey ? [] : [PowerSyncFinding(.jwksMissing)] }
        let known = addresses.compactMap { value -> String? in
            guard case .scalar(let text, let tag) = value, tag == nil else { return nil }
            return text
        }
        // From the environment: what it will be cannot be read here.
        guard known.count == addresses.count else { return [] }
        if known.contains(terms.keySetAddress) { return refusals(auth, [terms.keySetAddress]) }
        let candidates = known.filter { $0.hasSuffix("/.well-known/jwks.json") }
        guard !candidates.isEmpty else { return known.map { PowerSyncFinding(.jwksForeign, $0) } }
        return candidates.map { PowerSyncFinding(isOnLoopback($0) ? .jwksOnLoopback : .jwksElsewhere, $0) }
            + refusals(auth, candidates)
    }

    private func isOnLoopback(_ address: String) -> Bool {
        OutboundAddress("https" + address.drop { $0 != ":" }).map { OutboundAddress.isLoopback($0.host) } ?? false
    }

    /// `local` refuses loopback and private addresses; a name is judged only where it is loopback's own.
    private func refusals(_ auth: YAMLValue, _ addresses: [String]) -> [PowerSyncFinding] {
        let ranges = auth["jwks_reject_ip_ranges"]?.elements.compactMap(\.text) ?? []
        let refusesLocal = ranges.contains("local") || auth["block_local_jwks"]?.text == "true"
        guard refusesLocal else { return [] }
        return addresses.filter { isOnLoopback($0) || isPrivate($0) }.map { PowerSyncFinding(.jwksAddressRefused, $0) }
    }

    private func isPrivate(_ address: String) -> Bool {
        guard let host = OutboundAddress("https" + address.drop { $0 != ":" })?.host else { return false }
        let parts = host.split(separator: ".").compactMap { UInt8($0) }
        guard parts.count == 4 else { return false }
        return parts[0] == 10 || parts[0] == 192 && parts[1] == 168 || parts[0] == 172 && (16...31).contains(parts[1])
    }

    private func audiences(_ auth: YAMLValue) -> [PowerSyncFinding] {
        let given = auth["audience"]?.elements ?? []
        if given.isEmpty { return [PowerSyncFinding(.audienceMissing)] }
        let known = given.compactMap { value -> String? in
            guard case .scalar(let text, let tag) = value, tag == nil else { return nil }
            return text
        }
        guard known.count == given.count,
            !known.contains(where: { one in terms.audiences.contains { areIdentical($0, one) } })
        else { return [] }
        return [PowerSyncFinding(.audienceForeign, known.joined(separator: ", "))]
    }

    private func keys(_ auth: YAMLValue) -> [PowerSyncFinding] {
        var found: [PowerSyncFinding] = []
        let keys = auth["jwks"]?["keys"]?.elements ?? []
        for key in keys {
            let name = key["kid"]?.text ?? ""
            if key["kty"]?.text == "oct" {
                found.append(PowerSyncFinding(.sharedSecret, name))
            } else if key["crv"]?.text == "P-512" {
                found.append(PowerSyncFinding(.curveName, name))
            } else if name.isEmpty {
                found.append(PowerSyncFinding(.staticKeyUnnamed))
            } else if !isOurs(key), !terms.keys.isEmpty {
                found.append(PowerSyncFinding(.staticKeyForeign, name))
            } else if auth["jwks_uri"] == nil {
                found.append(PowerSyncFinding(.staticKeyAlone, name))
            }
        }
        return found
    }

    private func isOurs(_ key: YAMLValue) -> Bool {
        terms.keys.contains { ours in
            guard let kid = key["kid"]?.text, areIdentical(kid, ours.kid) else { return false }
            return key["n"]?.text == ours.json["n"]?.stringValue
        }
    }

    /// Whatever value: from the environment, or left over from an example.
    private func values(_ value: YAMLValue) -> [PowerSyncFinding] {
        switch value {
        case .list(let elements): return elements.flatMap(values)
        case .mapping(let entries): return entries.flatMap { values($0.value) }
        case .scalar(let text, let tag):
            if tag == "!env" {
                let name = String(text.prefix { !$0.isWhitespace && $0 != ":" })
                return [PowerSyncFinding(name.hasPrefix("PS_") ? .environmentNeeded : .environmentName, name)]
            }
            let small = text.lowercased()
            let leftovers = ["changeme", "change-me", "change_me", "example.com", "your-", "<your", "todo", "xxxx"]
            return leftovers.contains(where: small.hasSubsequence) ? [PowerSyncFinding(.placeholder, text)] : []
        }
    }
}

extension String {
    /// Whether the other text stands somewhere in this one, byte by byte.
    fileprivate func hasSubsequence(_ other: String) -> Bool {
        let (bytes, wanted) = (Array(utf8), Array(other.utf8))
        guard bytes.count >= wanted.count else { return false }
        return (0...(bytes.count - wanted.count)).contains { bytes[$0...].starts(with: wanted) }
    }
}
