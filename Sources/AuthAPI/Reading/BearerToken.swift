import AuthDomain
import HTTP
import Primitives

/// The token of the one `Authorization` field. Never from the query or the content: URIs end in logs, and two places
/// would let two readers see two callers.
///
/// Source: RFC 6750 §2.1, RFC 9110 §11.6.2.
enum BearerToken {
    enum Kind {
        case access
        /// May be percent-encoded as a whole, as Better Auth's cookie is.
        case session
    }

    static func read(_ fields: HTTPFields, _ kind: Kind) throws(APIFailure) -> String {
        let values = fields.valueBytes(of: "authorization")
        guard let value = values.first else { throw APIFailure(.tokenMissing) }
        // RFC 6750 §3.1: more than one way of sending a token → invalid_request.
        guard values.count == 1 else { throw APIFailure(.tokenConflict) }
        // RFC 9110 §11.1: the scheme is compared without regard to case. Another scheme is no bearer token at all.
        let scheme = value.prefix { $0 != UInt8(ascii: " ") }
        guard String(decoding: scheme, as: UTF8.self).lowercased() == "bearer" else { throw APIFailure(.tokenMissing) }
        let token = value.dropFirst(scheme.count).drop { $0 == UInt8(ascii: " ") }
        guard !token.isEmpty else { throw APIFailure(.tokenMissing) }
        guard token.count <= AuthDomain.Limits.credentialCharactersMax, isToken(token, kind) else {
            // The action is that of every malformed token; no policy changes it.
            throw APIFailure(
                verdict: Refusal(
                    .tokenMalformed,
                    action: VerdictPolicy.careful.action(for: .tokenMalformed, isDeviceHeld: false)))
        }
        return String(decoding: token, as: UTF8.self)
    }

    /// `b64token`: at least one digit, then padding alone.
    private static func isToken(_ token: ArraySlice<UInt8>, _ kind: Kind) -> Bool {
        let body = token.prefix { $0 != UInt8(ascii: "=") }
        return !body.isEmpty && token.dropFirst(body.count).allSatisfy { $0 == UInt8(ascii: "=") }
            && body.allSatisfy { isDigit($0) || kind == .session && $0 == UInt8(ascii: "%") }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
