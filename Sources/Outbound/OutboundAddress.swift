import Reactor

/// An address that is fetched: `https`, or `http` on loopback, without a user in it.
package struct OutboundAddress: Equatable, Sendable, CustomStringConvertible {
    package let description: String
    /// With its brackets where it is an IPv6 address.
    package let host: String
    package let isSecure: Bool

    /// - Returns: `nil` for everything else.
    package init?(_ text: String) {
        let isSecure = text.hasPrefix("https://")
        guard isSecure || text.hasPrefix("http://"), text.utf8.count <= Limits.addressCharactersMax,
            text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
        else { return nil }
        let authority = text.dropFirst(isSecure ? 8 : 7).prefix { !"/?#".contains($0) }
        guard !authority.contains("@"), let host = Self.host(authority), isSecure || Self.isLoopback(host) else {
            return nil
        }
        description = text
        self.host = host
        self.isSecure = isSecure
    }

    /// Whether a host, with its brackets, is this machine itself.
    package static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || SocketAddress("\(host):0")?.isLoopback ?? false
    }

    private static func host(_ authority: Substring) -> String? {
        var host = authority
        if let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") {
            guard UInt16(authority[authority.index(after: colon)...]) != nil else { return nil }
            host = authority[..<colon]
        }
        let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
        guard !host.isEmpty, isBracketed || !host.contains(where: { "[]:".contains($0) }) else { return nil }
        return String(host)
    }
}
