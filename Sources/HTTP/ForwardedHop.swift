import Primitives

/// One hop of `Forwarded` or `X-Forwarded-For`.
///
/// ```text
/// Forwarded: for=192.0.2.60;proto=http;by=203.0.113.43, for="[2001:db8::17]:4711"
/// X-Forwarded-For: 192.0.2.60, 2001:db8::17
/// ```
enum ForwardedHop {
    struct Form: Sendable {
        let hasQuotes: Bool
        /// `nil` for what names no address.
        let address: @Sendable (ArraySlice<UInt8>) -> IPAddress?

        /// The part behind the last comma. `rest` is what stands before that comma, `nil` where there is none.
        ///
        /// Read from its end, so that a quote that the client leaves open cannot swallow what a proxy wrote behind it.
        func last(of line: ArraySlice<UInt8>, rest: inout ArraySlice<UInt8>?) -> ArraySlice<UInt8> {
            var isQuoted = false
            var index = line.endIndex
            while index > line.startIndex {
                index -= 1
                switch line[index] {
                case UInt8(ascii: "\"") where hasQuotes:
                    if !isQuoted || !ForwardedHop.isEscaped(line, index) { isQuoted.toggle() }
                case UInt8(ascii: ",") where !isQuoted:
                    rest = line[..<index]
                    return line[(index + 1)...]
                default: break
                }
            }
            rest = nil
            return line
        }
    }

    static let standard = Form(hasQuotes: true, address: forwardedFor)
    static let common = Form(hasQuotes: false) { node($0, isBareIPv6Allowed: true) }

    private static func isEscaped(_ line: ArraySlice<UInt8>, _ index: Int) -> Bool {
        line[..<index].reversed().prefix { $0 == UInt8(ascii: "\\") }.count % 2 == 1
    }

    // MARK: Forwarded

    /// The value of `for` in one element. Source: RFC 7239 §4.
    private static func forwardedFor(_ element: ArraySlice<UInt8>) -> IPAddress? {
        var rest = trimmed(element)
        var found: [UInt8]?
        while true {
            let name = rest.prefix { ByteSet.token.contains($0) }
            rest = rest[name.endIndex...]
            guard !name.isEmpty, rest.first == UInt8(ascii: "=") else { return nil }
            rest = rest.dropFirst()
            guard let value = value(&rest) else { return nil }
            if name.elementsEqual("for".utf8, by: { lowercased($0) == $1 }) {
                // RFC 7239 §4: each parameter once per element → with two of them, nobody is named.
                guard found == nil else { return nil }
                found = value
            }
            rest = trimmed(rest)
            guard let next = rest.first else { break }
            guard next == UInt8(ascii: ";") else { return nil }
            rest = trimmed(rest.dropFirst())
        }
        return found.flatMap { node($0[...], isBareIPv6Allowed: false) }
    }

    /// A token or a quoted text, taken off. Source: RFC 9110 §5.6.4.
    private static func value(_ rest: inout ArraySlice<UInt8>) -> [UInt8]? {
        guard rest.first == UInt8(ascii: "\"") else {
            let token = rest.prefix { ByteSet.token.contains($0) }
            rest = rest[token.endIndex...]
            return token.isEmpty ? nil : Array(token)
        }
        rest = rest.dropFirst()
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return text
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst() else { return nil }
                text.append(escaped)
            default: text.append(byte)
            }
        }
        return nil
    }

    // MARK: Addresses

    /// `192.0.2.60`, `192.0.2.60:4711`, `[2001:db8::17]`, `[2001:db8::17]:4711`. Source: RFC 7239 §6.
    ///
    /// `unknown` and `_hidden` name no address and are none here.
    private static func node(_ bytes: ArraySlice<UInt8>, isBareIPv6Allowed: Bool) -> IPAddress? {
        let bytes = trimmed(bytes)
        let colon = UInt8(ascii: ":")
        if bytes.first == UInt8(ascii: "[") {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            let inner = bytes[(bytes.startIndex + 1)..<end]
            guard inner.contains(colon), isPortOrNothing(bytes[(end + 1)...]) else { return nil }
            return address(inner)
        }
        switch bytes.count(where: { $0 == colon }) {
        case 0: return address(bytes)
        case 1:
            let host = bytes.prefix { $0 != colon }
            return isPortOrNothing(bytes[host.endIndex...]) ? address(host) : nil
        default: return isBareIPv6Allowed ? address(bytes) : nil
        }
    }

    /// `:4711`, `:_hidden`, or nothing.
    private static func isPortOrNothing(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard let first = bytes.first else { return true }
        let port = bytes.dropFirst()
        guard first == UInt8(ascii: ":"), let mark = port.first else { return false }
        if mark == UInt8(ascii: "_") { return port.count > 1 && port.allSatisfy { ByteSet.token.contains($0) } }
        return port.count <= 5 && port.allSatisfy { isDigit($0) }
    }

    private static func address(_ bytes: ArraySlice<UInt8>) -> IPAddress? {
        String(validating: bytes, as: UTF8.self).flatMap { IPAddress($0) }
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = bytes.drop { $0 == 0x20 || $0 == 0x09 }
        while let last = rest.last, last == 0x20 || last == 0x09 { rest.removeLast() }
        return rest
    }
}
