/// The kinds of value that PowerSync demands of its configuration. A wrong one keeps it from starting; names that it does
/// not know do not matter to it.
enum PowerSyncSchema {
    enum Kind: String {
        case text = "a text"
        case boolean = "true or false"
        case number = "a number"
        case mapping = "a mapping"
        case list = "a list"
        case texts = "a list of texts"
        case textOrTexts = "a text or a list of texts"
        case numberOrText = "a number or a text"
    }

    private static let rows: [(path: String, kind: Kind)] = [
        ("client_auth", .mapping), ("client_auth.jwks_uri", .textOrTexts), ("client_auth.audience", .texts),
        ("client_auth.block_local_jwks", .boolean), ("client_auth.jwks_reject_ip_ranges", .texts),
        ("client_auth.jwks", .mapping), ("client_auth.jwks.keys", .list), ("client_auth.supabase", .boolean),
        ("client_auth.supabase_jwt_secret", .text),
        ("replication", .mapping), ("replication.connections", .list), ("storage", .mapping), ("storage.type", .text),
        ("sync_rules", .mapping), ("sync_rules.path", .text), ("sync_rules.content", .text), ("port", .numberOrText),
        ("api", .mapping), ("api.tokens", .texts), ("migrations", .mapping),
        ("migrations.disable_auto_migration", .boolean), ("telemetry", .mapping),
        ("telemetry.prometheus_port", .numberOrText), ("telemetry.disable_telemetry_sharing", .boolean),
    ]

    /// Members that a key of `client_auth.jwks` has to have, by its `kty`; `alg` and `crv` only with these values.
    private static let keys: [String: (required: [String], algorithms: [String], curves: [String])] = [
        "RSA": (["kid", "n", "e"], ["RS256", "RS384", "RS512"], []),
        "oct": (["k", "alg"], ["HS256", "HS384", "HS512"], []),
        "OKP": (["crv", "x", "alg"], ["EdDSA"], ["Ed25519", "Ed448"]),
        "EC": (["crv", "x", "y", "alg"], ["ES256", "ES384", "ES512"], ["P-256", "P-384", "P-521"]),
    ]

    static func findings(_ document: YAMLValue) -> [PowerSyncFinding] {
        var found: [PowerSyncFinding] = []
        for (path, kind) in rows {
            var value: YAMLValue? = document
            for name in path.split(separator: ".") { value = value?[String(name)] }
            guard let value, !fits(value, kind) else { continue }
            found.append(PowerSyncFinding(.valueKind, "\(path) is \(name(of: value)) and not \(kind.rawValue)"))
        }
        return found
    }

    /// - Parameter index: of the key in `client_auth.jwks.keys`.
    static func findings(key: YAMLValue, at index: Int) -> [PowerSyncFinding] {
        let path = "client_auth.jwks.keys[\(index)]"
        guard let type = key["kty"]?.text, let rules = keys[type] else {
            return [PowerSyncFinding(.valueKind, "\(path).kty is none of EC, OKP, RSA and oct")]
        }
        for name in rules.required where !(key[name].map { fits($0, .text) } ?? false) {
            return [PowerSyncFinding(.valueKind, "\(path).\(name) is missing or no text")]
        }
        for (name, allowed) in [("alg", rules.algorithms), ("crv", rules.curves)] where !allowed.isEmpty {
            if let value = key[name], !isUnknown(value), !(value.text.map(allowed.contains) ?? false) {
                return [PowerSyncFinding(.valueKind, "\(path).\(name) is none of \(allowed.joined(separator: ", "))")]
            }
        }
        return []
    }

    private static func isUnknown(_ value: YAMLValue) -> Bool {
        if case .environment = value { true } else { false }
    }

    private static func fits(_ value: YAMLValue, _ kind: Kind) -> Bool {
        switch (kind, value) {
        // What the environment gives has a kind, though its value is not known.
        case (.text, .environment(let text)), (.textOrTexts, .environment(let text)):
            PowerSyncEnvironment.Expression(text).kind == "string"
        case (.boolean, .environment(let text)): PowerSyncEnvironment.Expression(text).kind == "boolean"
        case (.number, .environment(let text)): PowerSyncEnvironment.Expression(text).kind == "number"
        case (.numberOrText, .environment): true
        case (.text, .text), (.boolean, .boolean), (.number, .number), (.mapping, .mapping), (.list, .list): true
        case (.textOrTexts, .text), (.numberOrText, .number), (.numberOrText, .text): true
        case (.texts, .list(let elements)), (.textOrTexts, .list(let elements)): elements.allSatisfy { fits($0, .text) }
        default: false
        }
    }

    private static func name(of value: YAMLValue) -> String {
        switch value {
        case .null: "empty"
        case .boolean: Kind.boolean.rawValue
        case .number: Kind.number.rawValue
        case .text: Kind.text.rawValue
        case .environment(let text): "\(PowerSyncEnvironment.Expression(text).kind) by !env"
        case .list: "a list of something else"
        case .mapping: Kind.mapping.rawValue
        }
    }
}
