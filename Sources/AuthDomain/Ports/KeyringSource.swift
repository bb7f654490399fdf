package import Crypto
package import JOSE

/// Where the keys of this moment are.
package protocol KeyringSource: Sendable {
    /// `nil` before the first load, and while a current key does not open.
    var keyring: Keyring? { get }

    /// The keys of the JWKS, whatever can be opened; `nil` before the first load, never empty.
    var published: [JWK]? { get }

    var inventory: KeyInventory? { get }

    /// Reads the keys anew, for a `kid` that is not in memory: another server may have made it a moment ago.
    func reload() async throws(Unavailability) -> Keyring

    /// What is in memory, read anew where it is older than other servers count on (`Limits.keyFollowing`).
    func current() async throws(Unavailability) -> Keyring
}

extension KeyringSource {
    package var published: [JWK]? { keyring?.published }

    package var inventory: KeyInventory? { nil }

    package func current() async throws(Unavailability) -> Keyring { try required() }

    /// What an operator has to see to; `nil` when every key that may be needed is at hand.
    package var fault: String? {
        if let unreadable = inventory?.unreadable, !unreadable.isEmpty {
            return unreadable.joined(separator: ", ") + ": does not open with SALLYPORT_KEK"
        }
        return keyring == nil ? "not loaded" : nil
    }

    package func required() throws(Unavailability) -> Keyring {
        guard let keyring else { throw published == nil ? .starting : .misconfigured }
        return keyring
    }
}

/// Signs by the key's own algorithm, out of the way of whoever only reads.
package protocol TokenSigner: Sendable {
    /// - Returns: the signatures, in the order asked for.
    func sign(_ requests: [SignatureRequest]) async throws(Unavailability) -> [[UInt8]]
}

package struct SignatureRequest: Sendable {
    package let key: SigningKey
    package let message: [UInt8]

    package init(key: SigningKey, message: [UInt8]) {
        self.key = key
        self.message = message
    }
}
