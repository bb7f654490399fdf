import Primitives

/// The address of a key set as PowerSync reads it: letter case of scheme and host, a default port, a query and blanks
/// around it make no difference. Source: WHATWG URL, as far as such an address needs it.
struct KeySetAddress: Equatable {
    let scheme: String
    /// In small letters, without brackets.
    let host: String
    let port: UInt16
    let path: String

    /// `nil` for what PowerSync refuses: no address, neither http nor https, or with credentials.
    init?(_ text: String) {
        var rest = text.filter { !"\t\r\n".contains($0) }[...]
        while let last = rest.last, last.isWhitespace { rest.removeLast() }
        rest = rest.drop(while: \.isWhitespace)
        guard let colon = rest.firstIndex(of: ":") else { return nil }
        scheme = rest[..<colon].lowercased()
        guard scheme == "http" || scheme == "https" else { return nil }
        rest = rest[rest.index(after: colon)...].drop { $0 == "/" || $0 == "\\" }
        let authority = rest.prefix { !"/\\?#".contains($0) }
        guard !authority.contains("@"), let (host, port) = Self.endpoint(authority) else { return nil }
        self.host = host.lowercased()
        self.port = port ?? (scheme == "http" ? 80 : 443)
        let path = rest.dropFirst(authority.count).prefix { $0 != "?" && $0 != "#" }
        self.path = path.isEmpty ? "/" : String(path)
    }

    private static func endpoint(_ authority: Substring) -> (host: Substring, port: UInt16?)? {
        var host = authority
        var port: UInt16?
        if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
            let digits = authority[authority.index(after: colon)...]
            port = UInt16(digits)
            guard digits.isEmpty || port != nil else { return nil }
            host = authority[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard IPAddress(host) != nil else { return nil }
        } else {
            guard !host.isEmpty, !host.contains(where: { $0.isWhitespace || ":[]<>^|%".contains($0) }) else {
                return nil
            }
        }
        return (host, port)
    }

    /// `nil` for a name.
    var address: IPAddress? { IPAddress(host) }

    var isLoopback: Bool {
        if let address { return ReservedAddresses.loopback.contains { $0.contains(address) } }
        return host == "localhost" || host.hasSuffix(".localhost")
    }
}

/// Blocks of addresses by what they are reserved for.
enum ReservedAddresses {
    static let loopback = blocks("127.0.0.0/8 ::1")
    /// Of a house or a company: not reached from elsewhere.
    static let isolated =
        loopback
        + blocks("0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 169.254.0.0/16 172.16.0.0/12 192.168.0.0/16 :: fc00::/7 fe80::/10")
    /// What `local` in `jwks_reject_ip_ranges` refuses: all that is not public unicast.
    static let local =
        isolated
        + blocks(
            "192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.175.48.0/24 198.18.0.0/15 "
                + "198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 ff00::/8 100::/64 64:ff9b::/96 64:ff9b:1::/48 2001::/23 "
                + "2001:db8::/32 2002::/16 2620:4f:8000::/48")

    private static func blocks(_ text: String) -> [CIDR] { text.split(separator: " ").compactMap { CIDR($0) } }
}
