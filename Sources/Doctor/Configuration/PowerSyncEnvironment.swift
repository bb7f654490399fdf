/// What `!env` gives in a PowerSync configuration: `!env PS_NAME`, `!env PS_NAME::number`, `!env PS_NAME::boolean`.
struct PowerSyncEnvironment {
    /// The variables of this process. PowerSync's container has others: a variable that is not set here is not known.
    let variables: (String) -> String?

    /// What stands behind `!env`, taken apart.
    struct Expression {
        let name: String
        /// `string`, `number`, `boolean`, or what PowerSync refuses.
        let kind: String

        init(_ text: String) {
            let colons = zip(text.indices, text.indices.dropFirst()).first { text[$0] == ":" && text[$1] == ":" }
            guard let colons else {
                (name, kind) = (text, "string")
                return
            }
            name = String(text[..<colons.0])
            kind = String(text[text.index(after: colons.1)...])
        }

        var isAllowed: Bool { name.hasPrefix("PS_") }
    }

    func value(_ text: String) -> YAMLValue {
        let expression = Expression(text)
        guard expression.isAllowed, let value = variables(expression.name) else { return .environment(text) }
        return Self.converted(value, expression.kind) ?? .environment(text)
    }

    /// Of an expression that `value` left as it is.
    func finding(_ text: String) -> PowerSyncFinding {
        let expression = Expression(text)
        if !expression.isAllowed { return PowerSyncFinding(.environmentName, expression.name) }
        let isKnownKind = ["string", "number", "boolean"].contains(expression.kind)
        if !isKnownKind || variables(expression.name) != nil { return PowerSyncFinding(.environmentKind, text) }
        return PowerSyncFinding(.environmentNeeded, expression.name)
    }

    private static func converted(_ value: String, _ kind: String) -> YAMLValue? {
        switch kind {
        case "string": .text(value)
        // As JavaScript's `Number`: blanks around it do not matter, and nothing is zero.
        case "number": Double(value.filter { !$0.isWhitespace } + (value.isEmpty ? "0" : "")).map { .number("\($0)") }
        case "boolean": ["true", "false"].contains(value.lowercased()) ? .boolean(value.lowercased() == "true") : nil
        default: nil
        }
    }
}
