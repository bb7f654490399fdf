import Primitives

/// A strict reader of RFC 8259, for texts that strangers send.
///
/// Refused beyond the grammar: repeated member names (two readers would see two values, RFC 8725 §2.4), a byte order
/// mark, invalid UTF-8, escapes of lone surrogates, depth and size over the limits.
package struct JSONParser {
    private let bytes: [UInt8]
    private let limits: JSONLimits
    private var index = 0
    private var depth = 0

    /// - Throws: `tooLarge` before anything is read; otherwise the first fault in the order of the text.
    package static func parse(
        _ bytes: some Collection<UInt8>, limits: JSONLimits = .standard
    ) throws(JSONError) -> JSONValue {
        guard bytes.count <= limits.bytesMax else { throw .tooLarge }
        var parser = JSONParser(bytes: Array(bytes), limits: limits)
        let value = try parser.value()
        guard parser.index == parser.bytes.count else { throw parser.malformed }
        return value
    }

    private init(bytes: [UInt8], limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    private var malformed: JSONError { .malformed(offset: index) }

    private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

    /// One value with the blanks around it.
    private mutating func value() throws(JSONError) -> JSONValue {
        skipBlanks()
        let value: JSONValue
        guard let first = current else { throw malformed }
        switch first {
        case UInt8(ascii: "{"): value = .object(try object())
        case UInt8(ascii: "["): value = .array(try array())
        case UInt8(ascii: "\""): value = .string(try string())
        case UInt8(ascii: "t"): value = try word("true", meaning: .bool(true))
        case UInt8(ascii: "f"): value = try word("false", meaning: .bool(false))
        case UInt8(ascii: "n"): value = try word("null", meaning: .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): value = try number()
        default: throw malformed
        }
        skipBlanks()
        return value
    }

    private mutating func skipBlanks() {
        while let byte = current, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { index += 1 }
    }

    private mutating func take(_ byte: UInt8) throws(JSONError) {
        guard current == byte else { throw malformed }
        index += 1
    }

    private mutating func word(_ text: StaticString, meaning: JSONValue) throws(JSONError) -> JSONValue {
        for byte in text.description.utf8 { try take(byte) }
        return meaning
    }
}

// MARK: - Arrays and objects

extension JSONParser {
    private mutating func enter() throws(JSONError) {
        depth += 1
        guard depth <= limits.depthMax else { throw .tooDeep }
        index += 1
        skipBlanks()
    }

    /// True when the list goes on after an element or member; its end is taken.
    private mutating func goesOn(until end: UInt8) throws(JSONError) -> Bool {
        if current == UInt8(ascii: ",") {
            index += 1
            return true
        }
        try take(end)
        depth -= 1
        return false
    }

    private mutating func array() throws(JSONError) -> [JSONValue] {
        try enter()
        var elements: [JSONValue] = []
        if current == UInt8(ascii: "]") {
            _ = try goesOn(until: UInt8(ascii: "]"))
            return elements
        }
        repeat { elements.append(try value()) } while try goesOn(until: UInt8(ascii: "]"))
        return elements
    }

    private mutating func object() throws(JSONError) -> JSONObject {
        try enter()
        var members: [(name: String, value: JSONValue)] = []
        var names: Set<ExactText> = []
        if current == UInt8(ascii: "}") {
            _ = try goesOn(until: UInt8(ascii: "}"))
            return JSONObject()
        }
        repeat {
            skipBlanks()
            let name = try string()
            // RFC 8259 §4 leaves repeated names open; a token check must not choose between two values.
            guard Self.isNew(name, among: members, &names) else { throw .duplicateMember }
            skipBlanks()
            try take(UInt8(ascii: ":"))
            members.append((name, try value()))
        } while try goesOn(until: UInt8(ascii: "}"))
        return JSONObject(provedMembers: members)
    }

    /// Scans while the members are few; past that, `names` holds them all, so that many members stay cheap.
    private static func isNew(
        _ name: String, among members: [(name: String, value: JSONValue)], _ names: inout Set<ExactText>
    ) -> Bool {
        if members.count < scannedMembersMax {
            return !members.contains { areIdentical($0.name, name) }
        }
        if names.isEmpty { names = Set(members.map { ExactText($0.name) }) }
        return names.insert(ExactText(name)).inserted
    }
}

// MARK: - Numbers

extension JSONParser {
    private mutating func number() throws(JSONError) -> JSONValue {
        let start = index
        var isPlain = true
        if current == UInt8(ascii: "-") { index += 1 }
        if current == UInt8(ascii: "0") {
            // RFC 8259 §6: no leading zeros; a digit after this one is trailing data.
            index += 1
        } else {
            try digits()
        }
        if current == UInt8(ascii: ".") {
            isPlain = false
            index += 1
            try digits()
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            isPlain = false
            index += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { index += 1 }
            try digits()
        }
        let literal = String(decoding: bytes[start..<index], as: UTF8.self)
        if isPlain, literal != "-0", let value = Int64(literal) { return .integer(value) }
        return .number(JSONNumber(provedLiteral: literal))
    }

    /// One or more.
    private mutating func digits() throws(JSONError) {
        let start = index
        while let byte = current, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { index += 1 }
        guard index > start else { throw malformed }
    }
}

// MARK: - Strings

extension JSONParser {
    /// Runs without escapes are validated and copied whole.
    private mutating func string() throws(JSONError) -> String {
        try take(UInt8(ascii: "\""))
        let start = index
        var decoded: [UInt8] = []
        var runStart = index
        while let byte = current {
            switch byte {
            case UInt8(ascii: "\""):
                let text: String?
                if runStart == start {
                    text = String(validating: bytes[start..<index], as: UTF8.self)
                } else {
                    decoded.append(contentsOf: bytes[runStart..<index])
                    text = String(validating: decoded, as: UTF8.self)
                }
                guard let text else { throw .malformed(offset: start) }
                index += 1
                return text
            case UInt8(ascii: "\\"):
                decoded.append(contentsOf: bytes[runStart..<index])
                index += 1
                try escape(into: &decoded)
                runStart = index
            case 0..<0x20:
                throw malformed
            default:
                index += 1
            }
        }
        throw malformed
    }

    private mutating func escape(into decoded: inout [UInt8]) throws(JSONError) {
        guard let byte = current else { throw malformed }
        let plain: UInt8
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): plain = byte
        case UInt8(ascii: "b"): plain = 0x08
        case UInt8(ascii: "f"): plain = 0x0c
        case UInt8(ascii: "n"): plain = 0x0a
        case UInt8(ascii: "r"): plain = 0x0d
        case UInt8(ascii: "t"): plain = 0x09
        case UInt8(ascii: "u"):
            index += 1
            try unicodeEscape(into: &decoded)
            return
        default: throw malformed
        }
        decoded.append(plain)
        index += 1
    }

    private mutating func unicodeEscape(into decoded: inout [UInt8]) throws(JSONError) {
        var code = UInt32(try codeUnit())
        if UTF16.isLeadSurrogate(UInt16(code)) {
            try take(UInt8(ascii: "\\"))
            try take(UInt8(ascii: "u"))
            let trail = try codeUnit()
            guard UTF16.isTrailSurrogate(trail) else { throw malformed }
            code = 0x10000 + (code - 0xd800) << 10 + (UInt32(trail) - 0xdc00)
        }
        // A lone trail surrogate is no scalar: RFC 8259 §8.2 calls the outcome unpredictable.
        guard let scalar = Unicode.Scalar(code) else { throw malformed }
        decoded.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }

    private mutating func codeUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = current, let digit = Hex.value(of: byte) else { throw malformed }
            unit = unit << 4 | UInt16(digit)
            index += 1
        }
        return unit
    }
}
