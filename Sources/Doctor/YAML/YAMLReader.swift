import CYaml
import JSON

/// One YAML document as values. libyaml finds the syntax; the core schema of YAML 1.2, keys that stand twice, `!env` and
/// the bounds are decided here, because libyaml is a reader of YAML 1.1 and knows none of them.
///
/// The file is not trusted: size, depth and the number of values are bounded, and what an alias stands for counts again at
/// each use ("billion laughs").
struct YAMLReader {
    struct Fault: Error, Equatable {
        /// `nil` where the file as a whole is meant.
        let line: Int?
        let sentence: String
    }

    static let bytesMax = 1 << 20
    static let depthMax = 64
    static let valuesMax = 20_000

    // SAFETY: `read` makes the parser, whose bytes outlive it, and deletes it; nothing else holds this value.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private let environment: (String) -> YAMLValue
    private var line = 1
    private var values = 0
    private var anchors: [String: (value: YAMLValue, values: Int)] = [:]

    /// - Parameter environment: gives the value of what stands behind `!env`.
    static func read(
        _ bytes: [UInt8], environment: @escaping (String) -> YAMLValue = YAMLValue.environment
    ) throws(Fault) -> YAMLValue {
        guard bytes.count <= bytesMax else { throw Fault(line: nil, sentence: "is larger than 1 MiB") }
        guard !bytes.contains(0), !bytes.starts(with: [0xff, 0xfe]), !bytes.starts(with: [0xfe, 0xff]) else {
            throw Fault(line: nil, sentence: "is UTF-16 or no text; PowerSync reads UTF-8")
        }
        // What is not UTF-8 becomes U+FFFD, as in Node.
        var text = Array(String(decoding: bytes, as: UTF8.self).utf8)
        if text.starts(with: [0xef, 0xbb, 0xbf]) { text.removeFirst(3) }
        if text.isEmpty { return .null }
        let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
        defer { parser.deallocate() }
        guard yaml_parser_initialize(parser) == 1 else {
            throw Fault(line: nil, sentence: "needs more memory than there is")
        }
        defer { yaml_parser_delete(parser) }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        return try text.withUnsafeBufferPointer { bytes throws(Fault) in
            yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
            var reader = YAMLReader(parser: parser, environment: environment)
            return try reader.document()
        }
    }

    private init(parser: UnsafeMutablePointer<yaml_parser_t>, environment: @escaping (String) -> YAMLValue) {
        self.parser = parser
        self.environment = environment
    }

    private mutating func document() throws(Fault) -> YAMLValue {
        var value = YAMLValue.null
        var isFirst = true
        while true {
            let event = try next()
            switch event {
            case .end: return value
            case .documentStart:
                guard isFirst else { throw fault("begins a second document; PowerSync reads one") }
                isFirst = false
            case .other: continue
            case .scalar, .alias, .listStart, .listEnd, .mappingStart, .mappingEnd:
                value = try compose(event, depth: 0)
            }
        }
    }

    private mutating func compose(_ event: Event, depth: Int) throws(Fault) -> YAMLValue {
        let before = values
        let value: YAMLValue
        let anchor: String?
        switch event {
        case .alias(let name):
            guard let target = anchors[name] else { throw fault("names *\(name), and there is no &\(name) before it") }
            try count(target.values)
            return target.value
        case .scalar(let scalar):
            (value, anchor) = (resolve(scalar), scalar.anchor)
        case .listStart(let name):
            (value, anchor) = (.list(try list(depth + 1)), name)
        case .mappingStart(let name):
            (value, anchor) = (.mapping(try mapping(depth + 1)), name)
        case .listEnd, .mappingEnd, .documentStart, .other, .end: throw fault("ends in the midst of a value")
        }
        try count(1)
        if let anchor { anchors[anchor] = (value, values - before) }
        return value
    }

    private mutating func list(_ depth: Int) throws(Fault) -> [YAMLValue] {
        try check(depth)
        var elements: [YAMLValue] = []
        while true {
            let event = try next()
            if case .listEnd = event { return elements }
            elements.append(try compose(event, depth: depth))
        }
    }

    private mutating func mapping(_ depth: Int) throws(Fault) -> [YAMLValue.Entry] {
        try check(depth)
        var entries: [YAMLValue.Entry] = []
        var keys: Set<ExactText> = []
        while true {
            let event = try next()
            if case .mappingEnd = event { return entries }
            let keyLine = line
            let key = try compose(event, depth: depth)
            let value = try compose(try next(), depth: depth)
            // A list or a mapping as a key is none that PowerSync asks for.
            guard let name = Self.name(key) else { continue }
            guard keys.insert(ExactText(name)).inserted else {
                throw Fault(line: keyLine, sentence: "names \(name) a second time; PowerSync does not start")
            }
            entries.append(YAMLValue.Entry(key: name, value: value))
        }
    }

    private static func name(_ key: YAMLValue) -> String? {
        switch key {
        case .text(let text), .number(let text), .environment(let text): text
        case .boolean(let flag): "\(flag)"
        case .null: ""
        case .list, .mapping: nil
        }
    }

    private func resolve(_ scalar: Scalar) -> YAMLValue {
        switch scalar.tag {
        case nil: scalar.isPlain ? YAMLValue(plain: scalar.text) : .text(scalar.text)
        case "!env": environment(scalar.text)
        case "tag:yaml.org,2002:bool", "tag:yaml.org,2002:int", "tag:yaml.org,2002:float", "tag:yaml.org,2002:null":
            YAMLValue(plain: scalar.text)
        // `!!str`, `!`, and tags that PowerSync does not know, of which it only warns.
        default: .text(scalar.text)
        }
    }

    private func check(_ depth: Int) throws(Fault) {
        if depth > Self.depthMax { throw fault("is nested more than \(Self.depthMax) levels deep") }
    }

    private mutating func count(_ more: Int) throws(Fault) {
        values += more
        if values > Self.valuesMax {
            throw fault("brings the file to more than \(Self.valuesMax) values, aliases counted as what they stand for")
        }
    }

    private func fault(_ sentence: String) -> Fault { Fault(line: line, sentence: sentence) }
}

extension YAMLReader {
    private struct Scalar {
        let text: String
        let tag: String?
        let isPlain: Bool
        let anchor: String?
    }

    private enum Event {
        case documentStart, other, end
        case alias(String)
        case scalar(Scalar)
        case listStart(anchor: String?), listEnd
        case mappingStart(anchor: String?), mappingEnd
    }

    private mutating func next() throws(Fault) -> Event {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw syntaxFault() }
        defer { yaml_event_delete(&event) }
        line = Int(event.start_mark.line) + 1
        switch event.type {
        case YAML_DOCUMENT_START_EVENT: return .documentStart
        case YAML_STREAM_END_EVENT: return .end
        case YAML_ALIAS_EVENT: return .alias(Self.text(event.data.alias.anchor) ?? "")
        case YAML_SEQUENCE_START_EVENT: return .listStart(anchor: Self.text(event.data.sequence_start.anchor))
        case YAML_SEQUENCE_END_EVENT: return .listEnd
        case YAML_MAPPING_START_EVENT: return .mappingStart(anchor: Self.text(event.data.mapping_start.anchor))
        case YAML_MAPPING_END_EVENT: return .mappingEnd
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let bytes = UnsafeBufferPointer(start: scalar.value, count: Int(scalar.length))
            return .scalar(
                Scalar(
                    text: String(decoding: bytes, as: UTF8.self), tag: Self.text(scalar.tag),
                    isPlain: scalar.style == YAML_PLAIN_SCALAR_STYLE, anchor: Self.text(scalar.anchor)))
        default: return .other
        }
    }

    private func syntaxFault() -> Fault {
        let state = parser.pointee
        let problem = state.problem.map { String(cString: $0) } ?? "it needs more memory than there is"
        let isPlaced = state.error == YAML_SCANNER_ERROR || state.error == YAML_PARSER_ERROR
        let mark = isPlaced ? state.problem_mark : state.mark
        return Fault(line: Int(mark.line) + 1, sentence: "is no YAML: \(problem)")
    }

    private static func text(_ bytes: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        guard let bytes else { return nil }
        return String(cString: bytes)
    }
}
