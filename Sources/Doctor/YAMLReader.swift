import JSON

/// As much of YAML as settings files are written in: nested mappings and lists by indentation, flow lists and mappings on
/// one line, plain and quoted scalars, comments, block scalars (skipped), and tags before a scalar, which are kept.
///
/// ```text
/// client_auth:                      mapping of one entry
///   jwks_uri: !env PS_JWKS_URL      scalar "PS_JWKS_URL", tag "!env"
///   audience: ["a", b]              list of two scalars
/// ```
/// Anchors, aliases, and flow over several lines are not read: they are refused, not misread.
indirect enum YAMLValue: Equatable, Sendable {
    case scalar(String, tag: String?)
    case list([YAMLValue])
    case mapping([(key: String, value: YAMLValue)])

    static func == (left: YAMLValue, right: YAMLValue) -> Bool {
        switch (left, right) {
        case (.scalar(let a, let tagA), .scalar(let b, let tagB)): a == b && tagA == tagB
        case (.list(let a), .list(let b)): a == b
        case (.mapping(let a), .mapping(let b)):
            a.map(\.key) == b.map(\.key) && a.map(\.value) == b.map(\.value)
        default: false
        }
    }

    subscript(key: String) -> YAMLValue? {
        guard case .mapping(let entries) = self else { return nil }
        return entries.first { $0.key == key }?.value
    }

    var text: String? {
        guard case .scalar(let text, _) = self else { return nil }
        return text
    }

    /// A list's elements, or the one value.
    var elements: [YAMLValue] {
        switch self {
        case .list(let elements): elements
        case .scalar(let text, _): text.isEmpty ? [] : [self]
        case .mapping: [self]
        }
    }
}

/// Reads one document.
struct YAMLReader {
    struct Fault: Error, Equatable {
        let line: Int
        let sentence: String
    }

    private struct Line {
        let number: Int
        let indent: Int
        var content: Substring
    }

    private var lines: [Line] = []
    private var next = 0

    static func read(_ text: String) throws(Fault) -> YAMLValue {
        if text.drop(while: \.isWhitespace).first == "{", let value = try? JSONParser.parse(Array(text.utf8)) {
            return YAMLValue(value)
        }
        var reader = try YAMLReader(text)
        guard let first = reader.lines.first else { return .mapping([]) }
        let value = try reader.block(first.indent)
        if reader.next < reader.lines.count { throw reader.fault("is indented less than what it belongs to") }
        return value
    }

    private init(_ text: String) throws(Fault) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let indent = line.prefix { $0 == " " }.count
            var content = Self.uncommented(line.dropFirst(indent))
            while content.last?.isWhitespace ?? false { content.removeLast() }
            if content.isEmpty || content == "---" { continue }
            guard content.first != "\t" else { throw Fault(line: index + 1, sentence: "is indented with tabs") }
            lines.append(Line(number: index + 1, indent: indent, content: content))
        }
    }

    private func fault(_ sentence: String) -> Fault {
        Fault(line: next < lines.count ? lines[next].number : lines.last?.number ?? 1, sentence: sentence)
    }

    /// `#` begins a comment at the start and behind a blank, outside quotes.
    private static func uncommented(_ text: Substring) -> Substring {
        var quote: Character?
        var previous: Character = " "
        for index in text.indices {
            let character = text[index]
            if let open = quote {
                if character == open { quote = nil }
            } else if character == "#", previous.isWhitespace {
                return text[..<index]
            } else if character == "\"" || character == "'", previous.isWhitespace || "[{,:".contains(previous) {
                quote = character
            }
            previous = character
        }
        return text
    }

    private mutating func block(_ indent: Int) throws(Fault) -> YAMLValue {
        let isList = lines[next].content == "-" || lines[next].content.hasPrefix("- ")
        return isList ? try list(indent) : try mapping(indent)
    }

    private mutating func list(_ indent: Int) throws(Fault) -> YAMLValue {
        var elements: [YAMLValue] = []
        while next < lines.count, lines[next].indent == indent,
            lines[next].content == "-" || lines[next].content.hasPrefix("- ")
        {
            let rest = lines[next].content.dropFirst(1).drop(while: \.isWhitespace)
            let inner = indent + lines[next].content.count - rest.count
            if rest.isEmpty {
                next += 1
                elements.append(try nested(below: indent))
            } else if Self.keyEnd(rest) != nil, rest.first != "[", rest.first != "{" {
                // `- key: value` begins a mapping whose entries stand below its first key.
                lines[next] = Line(number: lines[next].number, indent: inner, content: rest)
                elements.append(try mapping(inner))
            } else {
                elements.append(try value(rest))
                next += 1
            }
        }
        return .list(elements)
    }

    private mutating func mapping(_ indent: Int) throws(Fault) -> YAMLValue {
        var entries: [(key: String, value: YAMLValue)] = []
        while next < lines.count, lines[next].indent == indent {
            let content = lines[next].content
            guard let end = Self.keyEnd(content) else {
                throw fault("is neither `key: value` nor an element of a list")
            }
            let key = Self.unquoted(content[..<end])
            let rest = content[content.index(after: end)...].drop(while: \.isWhitespace)
            if rest.isEmpty {
                next += 1
                entries.append((key, try nested(below: indent, allowsListBeside: true)))
            } else if rest.first == "|" || rest.first == ">" {
                next += 1
                while next < lines.count, lines[next].indent > indent { next += 1 }
                entries.append((key, .scalar("", tag: nil)))
            } else {
                entries.append((key, try value(rest)))
                next += 1
            }
        }
        return .mapping(entries)
    }

    /// What a key or a dash without a value on its line has: a deeper block, or nothing.
    private mutating func nested(below indent: Int, allowsListBeside: Bool = false) throws(Fault) -> YAMLValue {
        guard next < lines.count else { return .scalar("", tag: nil) }
        let line = lines[next]
        if line.indent > indent { return try block(line.indent) }
        if allowsListBeside, line.indent == indent, line.content == "-" || line.content.hasPrefix("- ") {
            return try list(indent)
        }
        return .scalar("", tag: nil)
    }

    private func value(_ text: Substring) throws(Fault) -> YAMLValue {
        switch text.first {
        case "&", "*": throw fault("has an anchor or an alias, which is not read here")
        case "[", "{":
            var rest = text
            let value = try flow(&rest)
            guard rest.allSatisfy(\.isWhitespace) else { throw fault("has something behind a closing bracket") }
            return value
        case "!":
            let tag = text.prefix { !$0.isWhitespace }
            return .scalar(Self.unquoted(text.dropFirst(tag.count).drop(while: \.isWhitespace)), tag: String(tag))
        default: return .scalar(Self.unquoted(text), tag: nil)
        }
    }

    private func flow(_ text: inout Substring) throws(Fault) -> YAMLValue {
        let isList = text.removeFirst() == "["
        let close: Character = isList ? "]" : "}"
        var elements: [YAMLValue] = []
        var entries: [(key: String, value: YAMLValue)] = []
        while true {
            text = text.drop { $0.isWhitespace || $0 == "," }
            guard let first = text.first else { throw fault("has a bracket that is not closed on its line") }
            if first == close {
                text.removeFirst()
                return isList ? .list(elements) : .mapping(entries)
            }
            var key = ""
            if !isList {
                guard let end = Self.keyEnd(text) else { throw fault("has a mapping in braces without `key: value`") }
                key = Self.unquoted(text[..<end])
                text = text[text.index(after: end)...].drop(while: \.isWhitespace)
            }
            let element: YAMLValue
            if let next = text.first, next == "[" || next == "{" {
                element = try flow(&text)
            } else {
                let end = Self.flowEnd(text)
                var part = text[..<end]
                while part.last?.isWhitespace ?? false { part.removeLast() }
                text = text[end...]
                element = try value(part)
            }
            if isList { elements.append(element) } else { entries.append((key, element)) }
        }
    }

    private static func flowEnd(_ text: Substring) -> Substring.Index {
        var quote: Character?
        for index in text.indices {
            if let open = quote {
                if text[index] == open { quote = nil }
            } else if text[index] == "\"" || text[index] == "'" {
                quote = text[index]
            } else if ",]}".contains(text[index]) {
                return index
            }
        }
        return text.endIndex
    }

    /// The colon behind a key: followed by a blank or the line's end.
    private static func keyEnd(_ text: Substring) -> Substring.Index? {
        var quote: Character?
        for index in text.indices {
            if let open = quote {
                if text[index] == open { quote = nil }
            } else if index == text.startIndex, text[index] == "\"" || text[index] == "'" {
                quote = text[index]
            } else if text[index] == ":" {
                let after = text.index(after: index)
                if after == text.endIndex || text[after].isWhitespace { return index }
            }
        }
        return nil
    }

    private static func unquoted(_ text: Substring) -> String {
        guard text.count >= 2, let first = text.first, first == "\"" || first == "'", text.last == first else {
            return String(text)
        }
        return String(text.dropFirst().dropLast())
    }
}

extension YAMLValue {
    init(_ json: JSONValue) {
        switch json {
        case .object(let object): self = .mapping(object.members.map { ($0.name, YAMLValue($0.value)) })
        case .array(let elements): self = .list(elements.map(YAMLValue.init))
        case .string(let text): self = .scalar(text, tag: nil)
        case .null: self = .scalar("", tag: nil)
        default: self = .scalar(String(decoding: json.encoded(), as: UTF8.self), tag: nil)
        }
    }
}
