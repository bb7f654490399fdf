/// `method SP target SP version`, checked. Offsets count from the message's start.
///
/// Source: RFC 9112 §3.
struct RequestLine: Sendable {
    /// Its length with the line's end.
    let bytes: Int
    let method: Range<Int>
    let isOptions: Bool
    let target: TargetLayout
    let version: HTTPVersion

    /// One space in each of the two places and no other blank: RFC 9112 §3 would let a server be lenient, and two
    /// servers in a row would then read two targets.
    init(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(HTTPParseError) {
        self.bytes = line.count + 2
        let tokens = ByteSet.token
        var index = line.lowerBound
        while index < line.upperBound, tokens.contains(bytes[index]) { index += 1 }
        guard index > line.lowerBound, index < line.upperBound, bytes[index] == UInt8(ascii: " ") else {
            throw .malformed(.requestLine)
        }
        method = line.lowerBound..<index
        let targetStart = index + 1
        index = targetStart
        while index < line.upperBound, bytes[index] != UInt8(ascii: " ") { index += 1 }
        guard index > targetStart, index < line.upperBound else { throw .malformed(.requestLine) }
        version = try Self.version(bytes, index + 1..<line.upperBound)
        // RFC 9110 §9.3.6: this is no proxy.
        guard !Self.isEqual(bytes, method, "CONNECT") else { throw .notImplemented }
        guard let target = TargetLayout(bytes, targetStart..<index) else { throw .malformed(.target) }
        isOptions = Self.isEqual(bytes, method, "OPTIONS")
        // RFC 9112 §3.2.4: the asterisk is for OPTIONS alone.
        guard target.form != .asterisk || isOptions else { throw .malformed(.target) }
        self.target = target
    }

    private static func version(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(HTTPParseError) -> HTTPVersion {
        let start = range.lowerBound
        guard range.count == 8, isEqual(bytes, start..<start + 5, "HTTP/"), isDigit(bytes[start + 5]),
            bytes[start + 6] == UInt8(ascii: "."), isDigit(bytes[start + 7])
        else { throw .malformed(.requestLine) }
        guard bytes[start + 5] == UInt8(ascii: "1") else { throw .versionUnsupported }
        return bytes[start + 7] == UInt8(ascii: "0") ? .http10 : .http11
    }

    /// With regard to case.
    private static func isEqual(_ bytes: Span<UInt8>, _ range: Range<Int>, _ text: StaticString) -> Bool {
        text.withUTF8Buffer { text in
            text.count == range.count && text.indices.allSatisfy { bytes[range.lowerBound + $0] == text[$0] }
        }
    }
}

@inline(__always)
func isDigit(_ byte: UInt8) -> Bool {
    byte &- UInt8(ascii: "0") < 10
}
