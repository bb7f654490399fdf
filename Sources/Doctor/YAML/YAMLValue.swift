import JSON

/// A value of a settings file, in the core schema of YAML 1.2.
///
/// ```text
/// client_auth:                      mapping of three entries
///   jwks_uri: !env PS_JWKS_URL      environment, or the variable's text where it is known
///   supabase: True                  boolean
///   audience: ["a", b]              list of two texts
/// ```
indirect enum YAMLValue: Equatable, Sendable {
    case null
    case boolean(Bool)
    case number(String)
    case text(String)
    /// `!env NAME` or `!env NAME::kind`, whose value is not known here.
    case environment(String)
    case list([YAMLValue])
    case mapping([Entry])

    struct Entry: Equatable, Sendable {
        let key: String
        let value: YAMLValue
    }

    subscript(key: String) -> YAMLValue? {
        guard case .mapping(let entries) = self else { return nil }
        return entries.first { $0.key == key }?.value
    }

    var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }

    /// A list's elements; `nil` for everything else.
    var elements: [YAMLValue]? {
        guard case .list(let elements) = self else { return nil }
        return elements
    }

    /// A plain scalar as the core schema resolves it. Source: YAML 1.2.2 §10.3.2.
    init(plain text: String) {
        switch text {
        case "", "~", "null", "Null", "NULL": self = .null
        case "true", "True", "TRUE": self = .boolean(true)
        case "false", "False", "FALSE": self = .boolean(false)
        default: self = Self.isNumber(text) ? .number(text) : .text(text)
        }
    }

    private static func isNumber(_ text: String) -> Bool {
        if text.hasPrefix("0o") {
            return text.utf8.count > 2 && text.dropFirst(2).allSatisfy("01234567".contains)
        }
        if text.hasPrefix("0x") { return text.utf8.count > 2 && text.dropFirst(2).allSatisfy(\.isASCIIHexDigit) }
        var rest = text[...]
        if rest.first == "-" || rest.first == "+" { rest.removeFirst() }
        if [".inf", ".Inf", ".INF"].contains(rest) { return true }
        if [".nan", ".NaN", ".NAN"].contains(text) { return true }
        let whole = rest.prefix(while: \.isASCIIDigit)
        rest = rest.dropFirst(whole.count)
        if rest.first == "." {
            let fraction = rest.dropFirst().prefix(while: \.isASCIIDigit)
            if whole.isEmpty, fraction.isEmpty { return false }
            rest = rest.dropFirst(1 + fraction.count)
        } else if whole.isEmpty {
            return false
        }
        guard let exponent = rest.first else { return true }
        guard exponent == "e" || exponent == "E" else { return false }
        rest.removeFirst()
        if rest.first == "-" || rest.first == "+" { rest.removeFirst() }
        return !rest.isEmpty && rest.allSatisfy(\.isASCIIDigit)
    }

    init(_ json: JSONValue) {
        switch json {
        case .object(let object):
            self = .mapping(object.members.map { Entry(key: $0.name, value: YAMLValue($0.value)) })
        case .array(let elements): self = .list(elements.map(YAMLValue.init))
        case .string(let text): self = .text(text)
        case .null: self = .null
        case .bool(let flag): self = .boolean(flag)
        case .integer, .number: self = .number(String(decoding: json.encoded(), as: UTF8.self))
        }
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { isASCII && isWholeNumber }
    fileprivate var isASCIIHexDigit: Bool { isASCII && isHexDigit }
}
