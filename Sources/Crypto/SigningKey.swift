package import Primitives

/// The signature algorithms that we make and check. Source: RFC 7518 §3.1.
package enum SignatureAlgorithm: String, Sendable, CaseIterable {
    /// RSASSA-PKCS1-v1_5 with SHA-256: our own tokens.
    case rs256 = "RS256"
    /// ECDSA on P-256 with SHA-256: what other services demand of us, such as Apple's client secret.
    case es256 = "ES256"
}

/// A private key of any kind that we sign with.
package enum SigningKey: Sendable {
    case rsa(RSAPrivateKey)
    case p256(P256PrivateKey)

    /// PKCS #8 (RFC 5958), not encrypted, DER; the kind of key is read from it.
    ///
    /// - Throws: `keyRefused` for another kind of key, and for whatever the kind itself refuses.
    package init(pkcs8DER der: [UInt8]) throws(CryptoError) {
        switch try PKCS8.kind(of: der) {
        case .rs256: self = .rsa(try RSAPrivateKey(pkcs8DER: der))
        case .es256: self = .p256(try P256PrivateKey(pkcs8DER: der))
        }
    }

    package var algorithm: SignatureAlgorithm { publicKey.algorithm }

    package var publicKey: VerificationKey {
        switch self {
        case .rsa(let key): .rsa(key.publicKey)
        case .p256(let key): .p256(key.publicKey)
        }
    }

    /// - Returns: the signature in the form of a JWS. Source: RFC 7518 §3.3 and §3.4.
    package func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        switch self {
        case .rsa(let key): try key.sign(message)
        case .p256(let key): try key.sign(message)
        }
    }

    package func pkcs8DER() -> Secret<[UInt8]> {
        switch self {
        case .rsa(let key): key.pkcs8DER()
        case .p256(let key): key.pkcs8DER()
        }
    }
}

/// A public key of any kind that we check signatures with. A key has one algorithm: the token does not choose.
/// Source: RFC 8725 §3.1.
package enum VerificationKey: Equatable, Sendable {
    case rsa(RSAPublicKey)
    case p256(P256PublicKey)

    package var algorithm: SignatureAlgorithm {
        switch self {
        case .rsa: .rs256
        case .p256: .es256
        }
    }

    /// - Parameter signature: in the form of a JWS.
    package func isValidSignature(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        switch self {
        case .rsa(let key): key.isValidSignature(signature, of: message)
        case .p256(let key): key.isValidSignature(signature, of: message)
        }
    }
}
