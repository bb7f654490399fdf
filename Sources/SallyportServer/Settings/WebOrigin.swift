/// An origin as a browser writes it in `Origin`, and the scheme of an app: `https://app.example.com:8443`, `myapp://`.
///
/// What no browser ever sends would be on the list for nothing, and its author would look for the reason elsewhere: a
/// slash at the end, an upper-case host, a default port, `null`, `*`. Source: RFC 6454 §6.2.
enum WebOrigin {
    static func isValid(_ text: String) -> Bool {
        guard let colon = text.firstIndex(of: ":") else { return false }
        let (scheme, rest) = (text[..<colon], text[text.index(after: colon)...])
        guard isScheme(scheme), rest.hasPrefix("//") else { return false }
        let authority = rest.dropFirst(2)
        let isWeb = scheme == "https" || scheme == "http"
        if authority.isEmpty { return !isWeb }
        let host: Substring
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return false }
            host = authority[...end]
            guard host.dropFirst().dropLast().utf8.allSatisfy({ isLower($0) || $0 == UInt8(ascii: ":") }) else {
                return false
            }
        } else {
            host = authority.prefix { $0 != ":" }
            guard !host.isEmpty, host.utf8.allSatisfy({ isLower($0) || "-._".utf8.contains($0) }) else { return false }
        }
        let port = authority[host.endIndex...]
        return port.isEmpty || port.hasPrefix(":") && isPort(port.dropFirst(), of: scheme)
    }

    private static func isScheme(_ text: Substring) -> Bool {
        text.utf8.first.map { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) } ?? false
            && text.utf8.allSatisfy { isLower($0) || "+-.".utf8.contains($0) }
    }

    private static func isPort(_ text: Substring, of scheme: Substring) -> Bool {
        guard let number = UInt16(text), number > 0, String(number) == text else { return false }
        return !(scheme == "https" && number == 443 || scheme == "http" && number == 80)
    }

    private static func isLower(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
