/// The fields that decide about framing and the connection, gathered while a head is read.
struct KnownFields: Sendable {
    private(set) var host: Range<Int>?
    private(set) var contentLength: Int?
    private(set) var hasTransferEncoding = false
    private(set) var closes = false
    private(set) var keepsAlive = false
    private(set) var expectation: Expectation?
    private var isChunked = false
    private var hasContentType = false
    private var hasAuthorization = false

    enum Expectation: Sendable {
        case continueContent
        case unknown
    }

    /// Notes a field that has a part in framing; others pass.
    mutating func note(_ bytes: Span<UInt8>, _ entry: HTTPFields.Entry) throws(HTTPParseError) {
        let name = entry.name
        switch name.count {
        case 4 where Self.isEqual(bytes, name, "host"):
            // RFC 9112 §3.2: more than one Host → 400.
            guard host == nil, Authority.isValid(bytes, entry.value) else { throw .malformed(.host) }
            host = entry.value
        case 6 where Self.isEqual(bytes, name, "expect"):
            let isKnown = expectation == nil && Self.isEqual(bytes, entry.value, "100-continue")
            expectation = isKnown ? .continueContent : .unknown
        case 10 where Self.isEqual(bytes, name, "connection"):
            noteOptions(bytes, entry.value)
        case 12 where Self.isEqual(bytes, name, "content-type"):
            guard !hasContentType else { throw .malformed(.repeatedField) }
            hasContentType = true
        case 13 where Self.isEqual(bytes, name, "authorization"):
            // Two credentials: a proxy may have checked the other one.
            guard !hasAuthorization else { throw .malformed(.repeatedField) }
            hasAuthorization = true
        case 14 where Self.isEqual(bytes, name, "content-length"):
            // RFC 9112 §6.3: two lengths, be they equal, are refused: no proxy can have merged them another way.
            guard contentLength == nil else { throw .malformed(.framing) }
            contentLength = try Self.decimal(bytes, entry.value)
        case 17 where Self.isEqual(bytes, name, "transfer-encoding"):
            guard !hasTransferEncoding else { throw .malformed(.framing) }
            hasTransferEncoding = true
            isChunked = Self.isEqual(bytes, entry.value, "chunked")
        default: break
        }
    }

    /// Source: RFC 9112 §6.3.
    func framing(_ version: HTTPVersion, bodyBytesMax: Int) throws(HTTPParseError) -> RequestHead.Framing {
        if hasTransferEncoding {
            // RFC 9112 §6.1: both framings present, or a transfer coding in 1.0 → refuse.
            guard contentLength == nil, version == .http11 else { throw .malformed(.framing) }
            // RFC 9112 §6.1: a coding that is not understood → 501. `chunked` alone is.
            guard isChunked else { throw .notImplemented }
            return .chunked
        }
        guard let contentLength, contentLength > 0 else { return .none }
        guard contentLength <= bodyBytesMax else { throw .bodyTooLarge }
        return .length(contentLength)
    }

    /// Whether the client waits for `100 Continue`.
    func expectsContinue(_ version: HTTPVersion, _ framing: RequestHead.Framing) throws(HTTPParseError) -> Bool {
        switch expectation {
        case nil: return false
        case .unknown: throw .expectationUnknown
        // RFC 9110 §10.1.1: ignored in 1.0, and without content to wait for.
        case .continueContent: return version == .http11 && framing != .none
        }
    }

    /// Source: RFC 9112 §9.3.
    func keepsConnection(_ version: HTTPVersion) -> Bool {
        !closes && (version == .http11 || keepsAlive)
    }

    private mutating func noteOptions(_ bytes: Span<UInt8>, _ value: Range<Int>) {
        var start = value.lowerBound
        while start < value.upperBound {
            var end = start
            while end < value.upperBound, bytes[end] != UInt8(ascii: ",") { end += 1 }
            var option = start..<end
            while let first = option.first, bytes[first] <= 0x20 { option = option.dropFirst() }
            while let last = option.last, bytes[last] <= 0x20 { option = option.dropLast() }
            if Self.isEqual(bytes, option, "close") { closes = true }
            if Self.isEqual(bytes, option, "keep-alive") { keepsAlive = true }
            start = end + 1
        }
    }

    /// Digits only: no sign, no list, no blank. A number beyond `Int` counts as its greatest, which is over any limit.
    private static func decimal(_ bytes: Span<UInt8>, _ range: Range<Int>) throws(HTTPParseError) -> Int {
        guard !range.isEmpty else { throw .malformed(.framing) }
        var number = 0
        for index in range {
            guard isDigit(bytes[index]) else { throw .malformed(.framing) }
            let (tens, overflows) = number.multipliedReportingOverflow(by: 10)
            let (sum, overflowsToo) = tens.addingReportingOverflow(Int(bytes[index] - UInt8(ascii: "0")))
            number = overflows || overflowsToo ? .max : sum
        }
        return number
    }

    /// Without regard to case; `text` is in lower case.
    private static func isEqual(_ bytes: Span<UInt8>, _ range: Range<Int>, _ text: StaticString) -> Bool {
        text.withUTF8Buffer { text in
            text.count == range.count
                && text.indices.allSatisfy { lowercased(bytes[range.lowerBound + $0]) == text[$0] }
        }
    }
}
