import Glibc

/// `host[:port]`, as `Host` and the absolute form carry it.
///
/// Stricter than RFC 3986 §3.2: no user information, no percent-encoding, no empty port, a port of 16 bits, and names
/// as resolvers take them (labels that are not empty, 253 bytes in all, one dot at the end allowed).
enum Authority {
    static func isValid(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard let first = range.first else { return false }
        guard let host = bytes[first] == UInt8(ascii: "[") ? endOfLiteral(bytes, range) : endOfName(bytes, range)
        else { return false }
        return host == range.upperBound || isPort(bytes, host..<range.upperBound)
    }

    /// - Returns: the offset behind a name.
    private static func endOfName(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        let names = ByteSet.hostName
        var index = range.lowerBound
        var labelCount = 0
        while index < range.upperBound, bytes[index] != UInt8(ascii: ":") {
            guard names.contains(bytes[index]) else { return nil }
            if bytes[index] == UInt8(ascii: ".") {
                guard labelCount > 0 else { return nil }
                labelCount = 0
            } else {
                labelCount += 1
            }
            index += 1
        }
        return (1...254).contains(index - range.lowerBound) ? index : nil
    }

    /// - Returns: the offset behind `[IPv6]`.
    private static func endOfLiteral(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        var text: [CChar] = []
        var index = range.lowerBound + 1
        while index < range.upperBound, bytes[index] != UInt8(ascii: "]") {
            guard bytes[index] > 0x20, bytes[index] < 0x7f, text.count < Int(INET6_ADDRSTRLEN) else { return nil }
            text.append(CChar(bytes[index]))
            index += 1
        }
        guard index < range.upperBound else { return nil }
        text.append(0)
        var address = in6_addr()
        return inet_pton(AF_INET6, text, &address) == 1 ? index + 1 : nil
    }

    private static func isPort(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard (2...6).contains(range.count), bytes[range.lowerBound] == UInt8(ascii: ":") else { return false }
        var port = 0
        for index in range.dropFirst() {
            guard bytes[index] &- UInt8(ascii: "0") < 10 else { return false }
            port = port * 10 + Int(bytes[index] - UInt8(ascii: "0"))
        }
        return port <= 65_535
    }
}
