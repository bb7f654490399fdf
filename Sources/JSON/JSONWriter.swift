/// Compact JSON text: no blanks, members in their order, the same bytes for the same value every time.
///
/// `"`, `\` and control characters are escaped; so are U+2028 and U+2029, which end a line for JavaScript and for some
/// log readers. `/` and all other characters stand as they are, in UTF-8.
package enum JSONWriter {
    package static func append(_ value: JSONValue, to bytes: inout [UInt8]) {
        switch value {
        case .null: bytes.append(contentsOf: Word.null)
        case .bool(let value): bytes.append(contentsOf: value ? Word.true : Word.false)
        case .integer(let value): append(value, to: &bytes)
        case .number(let value): bytes.append(contentsOf: value.literal.utf8)
        case .string(let value): append(value, to: &bytes)
        case .array(let elements): append(elements, to: &bytes)
        case .object(let object): append(object, to: &bytes)
        }
    }

    package static func append(_ object: JSONObject, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "{"))
        var isFirst = true
        for member in object.members {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            append(member.name, to: &bytes)
            bytes.append(UInt8(ascii: ":"))
            append(member.value, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    package static func append(_ elements: [JSONValue], to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "["))
        var isFirst = true
        for element in elements {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            append(element, to: &bytes)
        }
        bytes.append(UInt8(ascii: "]"))
    }

    package static func append(_ value: Int64, to bytes: inout [UInt8]) {
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        let start = bytes.count
        var rest = value.magnitude
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        } while rest > 0
        bytes[start...].reverse()
    }

    /// With its quotes.
    package static func append(_ text: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        var contiguous = text
        // SAFETY: the buffer is read inside the closure only.
        contiguous.withUTF8 { utf8 in
            var runStart = 0
            var index = 0
            while index < utf8.count {
                let length = escapedLength(at: index, of: utf8)
                if length > 0 {
                    bytes.append(contentsOf: utf8[runStart..<index])
                    appendEscape(at: index, of: utf8, to: &bytes)
                    runStart = index + length
                }
                index += max(length, 1)
            }
            bytes.append(contentsOf: utf8[runStart...])
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// How many bytes from `index` on make one character that must be escaped; 0 where none is.
    private static func escapedLength(at index: Int, of utf8: UnsafeBufferPointer<UInt8>) -> Int {
        switch utf8[index] {
        case 0..<0x20, UInt8(ascii: "\""), UInt8(ascii: "\\"): 1
        // U+2028 and U+2029 are E2 80 A8 and E2 80 A9; a String holds valid UTF-8, so that two bytes follow E2.
        case 0xe2 where utf8[index + 1] == 0x80 && utf8[index + 2] & 0xfe == 0xa8: 3
        default: 0
        }
    }

    private static func appendEscape(at index: Int, of utf8: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        switch utf8[index] {
        case UInt8(ascii: "\""): bytes.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0a: bytes.append(UInt8(ascii: "n"))
        case 0x0c: bytes.append(UInt8(ascii: "f"))
        case 0x0d: bytes.append(UInt8(ascii: "r"))
        case 0xe2: bytes.append(contentsOf: utf8[index + 2] == 0xa8 ? Word.lineSeparator : Word.paragraphSeparator)
        case let control:
            bytes.append(contentsOf: Word.controlPrefix)
            bytes.append(control < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
            let digit = control & 0x0f
            bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
    }

    private enum Word {
        static let null = Array("null".utf8)
        static let `true` = Array("true".utf8)
        static let `false` = Array("false".utf8)
        static let lineSeparator = Array("u2028".utf8)
        static let paragraphSeparator = Array("u2029".utf8)
        static let controlPrefix = Array("u00".utf8)
    }
}

extension JSONValue {
    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        encoded(into: &bytes)
        return bytes
    }

    /// Appends to `bytes`.
    package func encoded(into bytes: inout [UInt8]) {
        JSONWriter.append(self, to: &bytes)
    }
}

extension JSONObject {
    package func encoded() -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(64 * count)
        encoded(into: &bytes)
        return bytes
    }

    /// Appends to `bytes`.
    package func encoded(into bytes: inout [UInt8]) {
        JSONWriter.append(self, to: &bytes)
    }
}
