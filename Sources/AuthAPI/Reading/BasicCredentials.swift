import AuthDomain
import HTTP
import Primitives

/// Id and secret of a service, from the one `Authorization` field. Source: RFC 7617 §2, RFC 6749 §2.3.1.
struct BasicCredentials {
    private let id: String
    private let secret: String

    /// - Throws: `clientUnknown` for everything but one well-formed field of the scheme `Basic`.
    static func read(_ fields: HTTPFields) throws(APIFailure) -> BasicCredentials {
        let values = fields.valueBytes(of: "authorization")
        guard let value = values.first else { throw APIFailure(.clientUnknown) }
        guard values.count == 1 else { throw APIFailure(.tokenConflict) }
        let scheme = value.prefix { $0 != UInt8(ascii: " ") }
        let encoded = value.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") }
        guard String(decoding: scheme, as: UTF8.self).lowercased() == "basic",
            encoded.count <= AuthDomain.Limits.credentialCharactersMax,
            let decoded = Base64.decode(String(decoding: encoded, as: UTF8.self)),
            let text = String(validating: decoded, as: UTF8.self),
            let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
        else { throw APIFailure(.clientUnknown) }
        return BasicCredentials(id: String(text[..<colon]), secret: String(text[text.utf8.index(after: colon)...]))
    }

    /// RFC 6749 has both parts form-encoded first, and many clients leave that out: each reading is compared.
    func isKnown(to servers: ResourceServers) -> Bool {
        if servers.hasServer(id, secret: secret) { return true }
        guard let id = Self.formDecoded(id), let secret = Self.formDecoded(secret) else { return false }
        return servers.hasServer(id, secret: secret)
    }

    private static func formDecoded(_ text: String) -> String? {
        PercentCoding.decode(Array(text.utf8)[...], plusIsBlank: true).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
