package import Crypto
package import JSON
import Primitives

/// A public RSA key for RS256 as JSON. Source: RFC 7517 §4, RFC 7518 §6.3.1.
package struct JWK: Equatable, Sendable {
    package let key: RSAPublicKey
    package let kid: String

    /// One of our keys: its `kid` is the thumbprint, so that a name always means the same key.
    package init(_ key: RSAPublicKey) {
        self.key = key
        // RFC 7638 §3.2 and §3.3: the required members in the order of their names, without blanks.
        let members: JSONObject = ["e": .number(key.exponent), "kty": "RSA", "n": .number(key.modulus)]
        kid = JWKThumbprint.text(of: members)
    }

    /// A key of somebody else, under the name that they gave it.
    init(_ key: RSAPublicKey, foreignKID: String) {
        self.key = key
        kid = foreignKID
    }

    /// Exactly `kty, use, alg, kid, n, e`: more members have broken readers, `null` ones too.
    package var json: JSONObject {
        [
            "kty": "RSA", "use": "sig", "alg": .string(rs256), "kid": .string(kid),
            "n": .number(key.modulus), "e": .number(key.exponent),
        ]
    }
}

extension JSONValue {
    /// Base64url of a big-endian number without leading zeros. Source: RFC 7518 §2, Base64urlUInt.
    fileprivate static func number(_ bytes: [UInt8]) -> JSONValue {
        .string(Base64URL.encode(bytes))
    }
}

/// The name of a key made from the key alone. Source: RFC 7638.
package enum JWKThumbprint {
    /// SHA-256 in base64url, of a key of any kind that we know the required members of; `nil` when one is missing, or
    /// no text. The values are taken as written: a key in a loose spelling has another thumbprint.
    package static func of(_ jwk: JSONObject) -> String? {
        // RFC 7638 §3.2, RFC 8037 §2; in the order of the names.
        let names: [String]
        switch jwk["kty"]?.stringValue {
        case "EC": names = ["crv", "kty", "x", "y"]
        case "OKP": names = ["crv", "kty", "x"]
        case "RSA": names = ["e", "kty", "n"]
        case "oct": names = ["k", "kty"]
        default: return nil
        }
        var required = JSONObject()
        for name in names {
            guard let value = jwk[name]?.stringValue else { return nil }
            required[name] = .string(value)
        }
        return text(of: required)
    }

    fileprivate static func text(of required: JSONObject) -> String {
        Base64URL.encode(SHA256.hash(required.encoded()))
    }
}
