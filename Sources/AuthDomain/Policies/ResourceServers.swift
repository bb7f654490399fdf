import Crypto
import JSON
import Primitives

/// The services that may ask about tokens, each with a secret of its own, or with two while one replaces the other.
package struct ResourceServers: Sendable {
    private let entries: [(id: String, secretHash: [UInt8])]

    /// - Parameter entries: ids with the SHA-256 of a secret; an id may come more than once.
    package init(_ entries: [(id: String, secretHash: [UInt8])] = []) {
        self.entries = entries
    }

    /// All entries are compared: an unknown id costs the same as a wrong secret.
    package func hasServer(_ id: String, secret: String) -> Bool {
        let hash = SHA256.hash(Array(secret.utf8))
        var isKnown = false
        for entry in entries {
            let isSecret = areEqualInConstantTime(hash, entry.secretHash)
            if areIdentical(entry.id, id), isSecret { isKnown = true }
        }
        return isKnown
    }
}
