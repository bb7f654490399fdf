import JOSE
import JSON
import Primitives

/// Reads a PowerSync configuration against our terms, as PowerSync itself would. Pure: nothing is fetched.
package struct PowerSyncJudge {
    private let terms: PowerSyncTerms
    private let environment: PowerSyncEnvironment

    /// - Parameter variables: gives the variables of the environment by name; what it does not know is not judged.
    package init(terms: PowerSyncTerms, variables: @escaping (String) -> String?) {
        self.terms = terms
        environment = PowerSyncEnvironment(variables: variables)
    }

    /// - Parameters:
    ///   - bytes: of the file; `nil` if it could not be read.
    ///   - name: of the file, which tells PowerSync whether it is YAML or JSON.
    package func findings(config bytes: [UInt8]?, name: String) -> [PowerSyncFinding] {
        guard let bytes else { return [PowerSyncFinding(.configUnreadable)] }
        let document: YAMLValue
        do throws(YAMLReader.Fault) {
            document = try read(bytes, name)
        } catch {
            return [PowerSyncFinding(.configMalformed, (error.line.map { "line \($0) " } ?? "it ") + error.sentence)]
        }
        var found = substitutions(document)
        if document == .null { return [PowerSyncFinding(.noClientAuth)] }
        guard case .mapping = document else {
            return found + [PowerSyncFinding(.valueKind, "the file is not a mapping")]
        }
        found += PowerSyncSchema.findings(document)
        guard let auth = document["client_auth"] else { return found + [PowerSyncFinding(.noClientAuth)] }
        guard case .mapping = auth else { return found }
        return found + supabase(auth) + addresses(auth) + audiences(auth) + keys(auth)
    }

    private func read(_ bytes: [UInt8], _ name: String) throws(YAMLReader.Fault) -> YAMLValue {
        if name.hasSuffix(".json") { return try json(bytes) }
        do throws(YAMLReader.Fault) {
            return try YAMLReader.read(bytes, environment: environment.value)
        } catch {
            // By a name that says nothing PowerSync tries both.
            let isYAML = name.hasSuffix(".yaml") || name.hasSuffix(".yml")
            guard !isYAML, let value = try? json(bytes) else { throw error }
            return value
        }
    }

    private func json(_ bytes: [UInt8]) throws(YAMLReader.Fault) -> YAMLValue {
        let sentence: String
        do throws(JSONError) {
            return YAMLValue(
                try JSONParser.parse(
                    bytes, limits: JSONLimits(bytesMax: YAMLReader.bytesMax, depthMax: YAMLReader.depthMax)))
        } catch {
            switch error {
            case .malformed(let offset): sentence = "is no JSON from byte \(offset) on"
            case .duplicateMember: sentence = "names a member twice, of which PowerSync reads the last"
            case .tooDeep, .tooLarge: sentence = "is larger than 1 MiB or nested too deeply"
            }
        }
        throw YAMLReader.Fault(line: nil, sentence: sentence)
    }

    /// `!env` everywhere in the file, since one that PowerSync refuses keeps it from starting. A variable that is not known
    /// here is told where it decides about tokens.
    private func substitutions(_ document: YAMLValue) -> [PowerSyncFinding] {
        var found: [PowerSyncFinding] = []
        func visit(_ value: YAMLValue, isAuth: Bool) {
            switch value {
            case .list(let elements): for element in elements { visit(element, isAuth: isAuth) }
            case .mapping(let entries):
                for entry in entries { visit(entry.value, isAuth: isAuth || entry.key == "client_auth") }
            case .environment(let text):
                let finding = environment.finding(text)
                if isAuth || !finding.fault.isWarning, !found.contains(finding) { found.append(finding) }
            case .null, .boolean, .number, .text: break
            }
        }
        visit(document, isAuth: false)
        return found
    }

    private func supabase(_ auth: YAMLValue) -> [PowerSyncFinding] {
        var found: [PowerSyncFinding] = []
        if auth["supabase"] == .boolean(true) { found.append(PowerSyncFinding(.supabaseEnabled)) }
        if auth["supabase_jwt_secret"] != nil { found.append(PowerSyncFinding(.supabaseSecret)) }
        return found
    }

    private func addresses(_ auth: YAMLValue) -> [PowerSyncFinding] {
        let value = auth["jwks_uri"]
        // A wrong kind is told by the schema.
        guard let values = value == nil ? [] : value?.elements ?? value.map({ [$0] }) else { return [] }
        var found: [PowerSyncFinding] = rangeFindings(auth)
        var known: [(text: String, address: KeySetAddress)] = []
        for case .text(let text) in values {
            guard let address = KeySetAddress(text) else {
                found.append(PowerSyncFinding(.jwksAddressMalformed, text))
                continue
            }
            if isRefused(address, auth) { found.append(PowerSyncFinding(.jwksAddressRefused, text)) }
            known.append((text, address))
        }
        if values.isEmpty { return found + (mayHaveOurKey(auth) ? [] : [PowerSyncFinding(.jwksMissing)]) }
        // From the environment or malformed: whether ours is among them cannot be told.
        guard known.count == values.count else { return found }
        let ours = KeySetAddress(terms.keySetAddress)
        return known.contains { $0.address == ours } ? found : found + known.flatMap { foreign($0.text, $0.address) }
    }

    /// An address that is not the issuer's: right only if it is this server as PowerSync reaches it.
    private func foreign(_ text: String, _ address: KeySetAddress) -> [PowerSyncFinding] {
        guard address.path == KeySetAddress(terms.keySetAddress)?.path || address.path == "/.well-known/jwks.json"
        else {
            return [PowerSyncFinding(.jwksForeign, text)]
        }
        let leftovers = ["changeme", "change-me", "change_me", "example.com", "your-", "<your", "todo", "xxxx"]
        let isLeftOver = leftovers.contains(where: address.host.hasText)
        return [PowerSyncFinding(address.isLoopback ? .jwksOnLoopback : .jwksElsewhere, text)]
            + (isLeftOver ? [PowerSyncFinding(.placeholder, text)] : [])
    }

    private func ranges(_ auth: YAMLValue) -> [String] {
        auth["jwks_reject_ip_ranges"]?.elements?.compactMap(\.text) ?? []
    }

    private func block(_ range: String) -> CIDR? { range.contains("/") ? CIDR(range) : nil }

    private func rangeFindings(_ auth: YAMLValue) -> [PowerSyncFinding] {
        ranges(auth).filter { $0 != "local" && block($0) == nil }.map { PowerSyncFinding(.rejectRangeMalformed, $0) }
    }

    /// A name is judged only where it is loopback's own: what another one means is known in PowerSync's container.
    private func isRefused(_ address: KeySetAddress, _ auth: YAMLValue) -> Bool {
        let ranges = ranges(auth)
        let blocksLocal = auth["block_local_jwks"] == .boolean(true)
        let refusesLocal = blocksLocal || ranges.contains("local")
        guard let number = address.address else { return refusesLocal && address.isLoopback }
        return blocksLocal && !number.isIPv4
            || refusesLocal && ReservedAddresses.local.contains { $0.contains(number) }
            || ranges.contains { block($0)?.contains(number) ?? false }
    }

    private func audiences(_ auth: YAMLValue) -> [PowerSyncFinding] {
        guard let value = auth["audience"] else { return [PowerSyncFinding(.audienceMissing)] }
        // A wrong kind is told by the schema.
        guard let given = value.elements else { return [] }
        if given.isEmpty { return [PowerSyncFinding(.audienceMissing)] }
        let known = given.compactMap(\.text)
        let open = known.filter(terms.isOpen).map { PowerSyncFinding(.audienceOpen, $0) }
        let isOurs = known.contains { one in terms.audiences.contains { areIdentical($0, one) } }
        guard known.count == given.count, !isOurs else { return open }
        return open + [PowerSyncFinding(.audienceForeign, known.joined(separator: ", "))]
    }

    private func keys(_ auth: YAMLValue) -> [PowerSyncFinding] {
        var found: [PowerSyncFinding] = []
        for (index, key) in (auth["jwks"]?["keys"]?.elements ?? []).enumerated() {
            let name = key["kid"]?.text ?? ""
            if key["crv"]?.text == "P-512" {
                found.append(PowerSyncFinding(.curveName, name))
                continue
            }
            let problems = PowerSyncSchema.findings(key: key, at: index)
            if !problems.isEmpty {
                found += problems
            } else if key["kty"]?.text == "oct" {
                found.append(PowerSyncFinding(.sharedSecret, name))
            } else if !mayBeOurs(key) {
                found.append(PowerSyncFinding(.staticKeyForeign, name))
            } else if auth["jwks_uri"] == nil {
                found.append(PowerSyncFinding(.staticKeyAlone, name))
            }
        }
        return found
    }

    private func mayHaveOurKey(_ auth: YAMLValue) -> Bool {
        auth["jwks"]?["keys"]?.elements?.contains(where: mayBeOurs) ?? false
    }

    /// Without the database our keys are not known, and neither is what the environment gives.
    private func mayBeOurs(_ key: YAMLValue) -> Bool {
        func mayBe(_ value: YAMLValue?, _ expected: String?) -> Bool {
            switch value {
            case .environment: true
            case .text(let text): expected.map { areIdentical($0, text) } ?? false
            default: false
            }
        }
        guard key["kty"]?.text == "RSA" else { return false }
        return terms.keys.isEmpty
            || terms.keys.contains { mayBe(key["kid"], $0.kid) && mayBe(key["n"], $0.json["n"]?.stringValue) }
    }
}
