import Crypto
package import Primitives

/// A session token whose signature by one of the configured secrets has been proved.
///
/// On the wire: `token.signature`, cut at the last dot, the signature being base64 of HMAC-SHA256(secret, token). It may
/// be percent-encoded as a whole, base64url, and unpadded. Example: secret `better-auth-secret-1234567890-abcdef`, token
/// `abcdefghijklmnopqrstuvwxyzABCDEF` → `….jnj0drBzy9j6Ks+zss+jprL7AAig651Y+JT0M2rUdmo=`.
package struct SessionToken: Sendable {
    package let token: Secret<String>

    package init(_ token: String) {
        self.token = Secret(token)
    }
}

/// How session tokens are proved, from the operator's settings.
package struct SessionTokenReader: Sendable {
    package enum Failure: Error, Equatable, Sendable {
        case malformed
        /// A well-formed token that none of our secrets has signed.
        case foreign
    }

    private let secrets: [Secret<[UInt8]>]
    private let allowsUnsigned: Bool

    /// - Parameter allowsUnsigned: raw tokens pass, and only where no secret is configured at all: a token whose
    ///   signature fails must never pass as a raw one.
    package init(secrets: [Secret<[UInt8]>], allowsUnsigned: Bool) {
        self.secrets = secrets
        self.allowsUnsigned = allowsUnsigned && secrets.isEmpty
    }

    package func read(_ presented: String) throws(Failure) -> SessionToken {
        guard !presented.isEmpty, presented.utf8.count <= Limits.credentialCharactersMax,
            let decoded = PercentCoding.decode(Array(presented.utf8)),
            decoded.allSatisfy({ $0 > 0x20 && $0 < 0x7f })
        else { throw .malformed }
        if allowsUnsigned { return SessionToken(String(decoding: decoded, as: UTF8.self)) }
        guard let dot = decoded.lastIndex(of: UInt8(ascii: ".")), dot > 0,
            let signature = Self.signature(decoded[(dot + 1)...])
        else { throw .malformed }
        let token = Array(decoded[..<dot])
        // Every secret is tried, whether or not one before it fits: the time tells nothing of which.
        let isOurs = secrets.reduce(false) { found, secret in
            areEqualInConstantTime(HMACSHA256.code(key: secret.exposed, message: token), signature) || found
        }
        guard isOurs else { throw .foreign }
        return SessionToken(String(decoding: token, as: UTF8.self))
    }

    /// Signs as Better Auth does; for the tokens that a standalone server hands out itself.
    package static func sign(_ token: String, secret: Secret<[UInt8]>) -> String {
        token + "." + Base64.encode(HMACSHA256.code(key: secret.exposed, message: Array(token.utf8)))
    }

    /// 32 bytes from standard base64 or base64url, padded or not.
    private static func signature(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var digits = text
        if digits.count == 44, digits.last == UInt8(ascii: "=") { digits.removeLast() }
        let url = digits.map { digit in
            switch digit {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: digit
            }
        }
        guard let bytes = Base64URL.decode(url), bytes.count == 32 else { return nil }
        return bytes
    }
}

/// What the session table's token column holds.
package enum TokenLookup: String, Sendable, CaseIterable {
    case plain
    case sha256Hex = "sha256-hex"
    case sha256Base64URL = "sha256-base64url"

    package func column(for token: SessionToken) -> Secret<String> {
        let text = token.token.exposed
        switch self {
        case .plain: return Secret(text)
        case .sha256Hex: return Secret(Hex.encode(SHA256.hash(Array(text.utf8))))
        case .sha256Base64URL: return Secret(Base64URL.encode(SHA256.hash(Array(text.utf8))))
        }
    }
}
