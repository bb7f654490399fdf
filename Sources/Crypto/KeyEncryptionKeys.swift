package import Primitives

// A sealed text, 37 bytes longer than what it holds:
//
//   01 | 8 bytes: which key | 12 bytes: nonce | ciphertext | 16 bytes: tag
//
// The key's id is the start of SHA-256("sallyport kek id" 00 key). The tag also covers the first nine bytes and the
// context, so that a text moved to another row, column or key does not open.

/// The keys from outside the database under which private keys and push tokens lie in it.
///
/// The first seals; all of them open. To change the key, a new one is put in front and the old one stays until all is
/// sealed anew.
package struct KeyEncryptionKeys: Sendable {
    private struct Key: Sendable {
        let id: [UInt8]
        let secret: Secret<[UInt8]>
    }

    private static let version: UInt8 = 1
    private static let idBytes = 8
    private static let idLabel = Array("sallyport kek id\0".utf8)

    private let keys: [Key]

    /// - Throws: `keyRefused` without a key, when one has not 32 bytes, or when one is given twice.
    package init(_ secrets: [Secret<[UInt8]>]) throws(CryptoError) {
        keys = secrets.map { secret in
            let digest = SHA256.hash(Self.idLabel + secret.exposed)
            return Key(id: Array(digest.prefix(Self.idBytes)), secret: secret)
        }
        guard !keys.isEmpty, secrets.allSatisfy({ $0.exposed.count == aes256KeyBytes }),
            Set(keys.map(\.id)).count == keys.count
        else { throw .keyRefused }
    }

    /// Which key seals, in hexadecimal: safe to show.
    package var sealingKeyID: String { Hex.encode(keys[0].id) }

    /// - Parameter context: what the text is and whose, such as `signing-key:<kid>`; the same one opens it.
    package func seal(
        _ plaintext: [UInt8], context: String, random: some RandomSource
    ) throws(CryptoError) -> [UInt8] {
        let prefix = [Self.version] + keys[0].id
        return try prefix
            + AES256GCM.seal(
                plaintext, key: keys[0].secret, additionalData: prefix + Array(context.utf8), random: random)
    }

    /// - Throws: `unknownKey` when no key here has sealed it (a configuration without the old key), otherwise
    ///   `authenticationFailed`.
    package func open(_ sealed: [UInt8], context: String) throws(CryptoError) -> Secret<[UInt8]> {
        let prefix = Array(sealed.prefix(1 + Self.idBytes))
        guard prefix.count == 1 + Self.idBytes, prefix[0] == Self.version else { throw .authenticationFailed }
        let id = Array(prefix.dropFirst())
        guard let key = keys.first(where: { $0.id == id }) else { throw .unknownKey }
        return Secret(
            try AES256GCM.open(
                Array(sealed.dropFirst(prefix.count)), key: key.secret, additionalData: prefix + Array(context.utf8)))
    }

    /// True when `sealed` opens only with another key than the one that seals now.
    package func needsResealing(_ sealed: [UInt8]) -> Bool {
        sealed.prefix(1 + Self.idBytes) != [Self.version] + keys[0].id
    }
}
