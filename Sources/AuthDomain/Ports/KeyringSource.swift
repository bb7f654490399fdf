package import Crypto

/// Where the keys of this moment are.
package protocol KeyringSource: Sendable {
    /// `nil` before the first load.
    var keyring: Keyring? { get }

    /// Reads the keys anew, for a `kid` that is not in memory: another server may have made it a moment ago.
    func reload() async throws(Unavailability) -> Keyring
}

extension KeyringSource {
    package func required() throws(Unavailability) -> Keyring {
        guard let keyring else { throw .starting }
        return keyring
    }
}

/// Signs with RS256, out of the way of whoever only reads.
package protocol TokenSigner: Sendable {
    /// - Returns: the signatures, in the order asked for.
    func sign(_ requests: [SignatureRequest]) async throws(Unavailability) -> [[UInt8]]
}

package struct SignatureRequest: Sendable {
    package let key: RSAPrivateKey
    package let message: [UInt8]

    package init(key: RSAPrivateKey, message: [UInt8]) {
        self.key = key
        self.message = message
    }
}
