package import Crypto
package import JSON
import Primitives

/// A public key as JSON. Source: RFC 7517 §4, RFC 7518 §6.2.1 and §6.3.1.
package struct JWK: Equatable, Sendable {
    package let key: VerificationKey
    package let kid: String

    /// One of our keys: its `kid` is the thumbprint, so that a name always means the same key.
    package init(_ key: VerificationKey) {
        self.key = key
        // RFC 7638 §3.2 and §3.3: the required members in the order of their names, without blanks.
        let members: JSONObject =
            switch key {
            case .rsa(let key): ["e": .number(key.exponent), "kty": "RSA", "n": .number(key.modulus)]
            case .p256(let key): ["crv": "P-256", "kty": "EC", "x": .number(key.x), "y": .number(key.y)]
            }
        kid = JWKThumbprint.text(of: members)
    }

    /// A key of somebody else, under the name that they gave it.
    init(_ key: VerificationKey, foreignKID: String) {
        self.key = key
        kid = foreignKID
    }

    /// Exactly `kty, use, alg, kid` and the numbers: more members have broken readers, `null` ones too.
    package var json: JSONObject {
        let algorithm = JSONValue.string(key.algorithm.rawValue)
        return switch key {
        case .rsa(let key):
            [
                "kty": "RSA", "use": "sig", "alg": algorithm, "kid": .string(kid),
                "n": .number(key.modulus), "e": .number(key.exponent),
            ]
        case .p256(let key):
            [
                "kty": "EC", "use": "sig", "alg": algorithm, "kid": .string(kid), "crv": "P-256",
                "x": .number(key.x), "y": .number(key.y),
            ]
        }
    }
}

extension JSONValue {
    /// Base64url of a big-endian number: of RSA without leading zeros, of P-256 with 32 bytes. Source: RFC 7518 §2,
    /// Base64urlUInt, and §6.2.1.2.
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
