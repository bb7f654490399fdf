import Reactor

/// The public origin, as `iss` says it. Source: RFC 8414 §2 (no query, no fragment).
struct Issuer: Equatable, Sendable {
    let text: String
    let isLoopback: Bool

    init(_ text: String) throws(SettingFault) {
        let expected = SettingFault(
            "an https origin such as https://auth.example.com, without a trailing slash; http on loopback only")
        let isSecure = text.hasPrefix("https://")
        guard isSecure || text.hasPrefix("http://") else { throw expected }
        let rest = text.dropFirst(isSecure ? 8 : 7)
        let authority = rest.prefix { $0 != "/" }
        let isPlain = rest.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && !"?#@\\\"<>^`{|}%".utf8.contains($0) }
        guard isPlain, !authority.isEmpty, !rest.hasSuffix("/"), let host = Self.host(authority) else {
            throw expected
        }
        isLoopback = host == "localhost" || SocketAddress("\(host):0")?.isLoopback ?? false
        guard isSecure || isLoopback else { throw expected }
        self.text = text
    }

    /// The host with its brackets, where the port is a number or absent.
    private static func host(_ authority: Substring) -> String? {
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            let port = authority[authority.index(after: end)...]
            guard port.isEmpty || port.hasPrefix(":") && UInt16(port.dropFirst()) != nil else { return nil }
            return String(authority[...end])
        }
        let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let host = parts.first, !host.isEmpty else { return nil }
        if parts.count == 2 { guard UInt16(parts[1]) != nil else { return nil } }
        return String(host)
    }
}
