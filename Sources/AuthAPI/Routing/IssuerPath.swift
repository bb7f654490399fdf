import HTTP

/// The path of an issuer that has one: its routes are found below it, and below the root, where a proxy cuts it off.
///
/// ```text
/// issuer https://example.com/auth1
/// /auth1/auth/token                                  the token endpoint, as the metadata names it
/// /.well-known/oauth-authorization-server/auth1      RFC 8414 §3.1: inserted between the well-known name and the path
/// /auth1/.well-known/openid-configuration            OpenID Connect Discovery §4: appended
/// ```
struct IssuerPath: Sendable {
    /// With its slash, without one at the end; empty for an issuer that is an origin.
    private let text: String

    init(_ issuer: String) {
        let authority = issuer.utf8.firstIndex(of: UInt8(ascii: ":")).map { issuer[$0...].dropFirst(3) } ?? ""
        text = String(authority.drop { $0 != "/" })
    }

    /// The target as the table of routes has it.
    func productTarget(_ target: RequestTarget) -> RequestTarget {
        guard !text.isEmpty else { return target }
        let path = target.path
        for name in [ShowServerMetadata.path, ShowOpenIDConfiguration.path] where path == name + text {
            return RequestTarget(name) ?? target
        }
        guard path.hasPrefix(text + "/") else { return target }
        return RequestTarget(String(path.dropFirst(text.count))) ?? target
    }
}
