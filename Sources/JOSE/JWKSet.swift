package import Crypto
import JSON
import Primitives

/// The keys of a JWK set that can check RS256 or ES256, each under its own `kid`. Source: RFC 7517 §5.
package struct JWKSet: Equatable, Sendable {
    package let keys: [JWK]

    package init(_ keys: [JWK]) {
        self.keys = keys
    }

    package var isEmpty: Bool { keys.isEmpty }
    package var kids: [String] { keys.map(\.kid) }

    package subscript(kid: String) -> VerificationKey? {
        keys.first { areIdentical($0.kid, kid) }?.key
    }

    /// Reads somebody else's set. Keys that we cannot use or do not trust are left out: another kind, use or algorithm,
    /// weak numbers, no `kid`; also all keys that share a `kid` and differ. Private members are not looked at.
    ///
    /// - Throws: `malformed` when it is no key set. An empty result is none of ours to judge: who fetched it keeps the
    ///   last good one.
    package static func parse(_ bytes: [UInt8]) throws(JOSEError) -> JWKSet {
        let document = try JSONObject(untrusted: bytes, limits: keySetJSONLimits)
        guard let elements = document["keys"]?.arrayValue else { throw .malformed }
        var keys: [JWK] = []
        var ambiguous: Set<ExactText> = []
        // RFC 7517 §5: unknown and incomplete members are ignored.
        for candidate in elements.compactMap({ $0.objectValue.flatMap(usableKey) }) {
            if let known = keys.first(where: { areIdentical($0.kid, candidate.kid) }) {
                if known.key != candidate.key { ambiguous.insert(ExactText(candidate.kid)) }
            } else {
                keys.append(candidate)
            }
        }
        return JWKSet(keys.filter { !ambiguous.contains(ExactText($0.kid)) })
    }

    /// `{"keys":[…]}`.
    package static func render(_ keys: [JWK]) -> [UInt8] {
        let document: JSONObject = ["keys": .array(keys.map { .object($0.json) })]
        return document.encoded()
    }

    private static func usableKey(_ jwk: JSONObject) -> JWK? {
        guard let key = verificationKey(jwk),
            jwk["use"] == nil || jwk["use"] == "sig",
            jwk["alg"] == nil || jwk["alg"] == .string(key.algorithm.rawValue),
            jwk["key_ops"] == nil || jwk["key_ops"]?.arrayValue?.contains("verify") == true,
            let kid = jwk["kid"]?.stringValue, !kid.isEmpty
        else { return nil }
        return JWK(key, foreignKID: kid)
    }

    private static func verificationKey(_ jwk: JSONObject) -> VerificationKey? {
        if jwk["kty"] == "RSA", let modulus = number(jwk["n"]), let exponent = number(jwk["e"]) {
            return (try? RSAPublicKey(modulus: modulus, exponent: exponent)).map(VerificationKey.rsa)
        }
        // RFC 7518 §6.2.1.2: coordinates have the full length of 32 bytes.
        if jwk["kty"] == "EC", jwk["crv"] == "P-256", let x = jwk["x"]?.stringValue.flatMap(Base64URL.decode(_:)),
            let y = jwk["y"]?.stringValue.flatMap(Base64URL.decode(_:))
        {
            return (try? P256PublicKey(x: x, y: y)).map(VerificationKey.p256)
        }
        return nil
    }

    /// Some servers write the sign byte of a DER integer; tolerated here, never written.
    private static func number(_ value: JSONValue?) -> [UInt8]? {
        guard let text = value?.stringValue, let bytes = Base64URL.decode(text) else { return nil }
        return Array(bytes.drop { $0 == 0 })
    }
}
