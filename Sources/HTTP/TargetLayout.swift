import Primitives

/// Where the parts of a request target lie in the bytes that hold it. Made only for a target that is well formed.
///
/// Source: RFC 9112 §3.2 and RFC 3986 §3; the authority form is CONNECT's alone and is refused with it.
struct TargetLayout: Sendable {
    let form: RequestTarget.Form
    let path: Range<Int>
    let query: Range<Int>?
    let authority: Range<Int>?

    init?(_ bytes: Span<UInt8>, _ range: Range<Int>) {
        guard let first = range.first else { return nil }
        switch bytes[first] {
        case UInt8(ascii: "/"):
            form = .origin
            authority = nil
            guard let parts = Self.pathAndQuery(bytes, range) else { return nil }
            (path, query) = parts
        case UInt8(ascii: "*"):
            guard range.count == 1 else { return nil }
            form = .asterisk
            authority = nil
            path = range
            query = nil
        default:
            guard let start = Self.endOfScheme(bytes, range) else { return nil }
            var end = start
            while end < range.upperBound, bytes[end] != UInt8(ascii: "/"), bytes[end] != UInt8(ascii: "?") { end += 1 }
            // RFC 9110 §4.2.1: an http URI with an empty host is invalid; §4.2.4: so is one with user information.
            guard Authority.isValid(bytes, start..<end),
                let parts = Self.pathAndQuery(bytes, end..<range.upperBound)
            else { return nil }
            form = .absolute
            authority = start..<end
            (path, query) = parts
        }
    }

    /// - Returns: the offset behind `http://` or `https://`.
    private static func endOfScheme(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        for scheme: StaticString in ["http://", "https://"] {
            let count = scheme.utf8CodeUnitCount
            guard range.count > count else { continue }
            let matches = scheme.withUTF8Buffer { name in
                name.indices.allSatisfy { lowercased(bytes[range.lowerBound + $0]) == name[$0] }
            }
            if matches { return range.lowerBound + count }
        }
        return nil
    }

    private static func pathAndQuery(_ bytes: Span<UInt8>, _ range: Range<Int>) -> (Range<Int>, Range<Int>?)? {
        let pathSet = ByteSet.path
        var index = range.lowerBound
        while index < range.upperBound, bytes[index] != UInt8(ascii: "?") {
            guard isAllowed(bytes, index, range.upperBound, pathSet) else { return nil }
            index += 1
        }
        let path = range.lowerBound..<index
        guard index < range.upperBound else { return (path, nil) }
        let queryStart = index + 1
        let querySet = ByteSet.query
        for index in queryStart..<range.upperBound {
            guard isAllowed(bytes, index, range.upperBound, querySet) else { return nil }
        }
        return (path, queryStart..<range.upperBound)
    }

    /// RFC 3986 §2.1: a `%` comes with two hexadecimal digits. A fragment's `#` is in neither set.
    @inline(__always)
    private static func isAllowed(_ bytes: Span<UInt8>, _ index: Int, _ end: Int, _ set: ByteSet) -> Bool {
        let byte = bytes[index]
        guard set.contains(byte) else { return false }
        guard byte == UInt8(ascii: "%") else { return true }
        return end - index > 2 && Hex.value(of: bytes[index + 1]) != nil && Hex.value(of: bytes[index + 2]) != nil
    }
}
