package import Crypto
package import JOSE
package import Primitives

/// All keys of one moment: an immutable snapshot that the loops share.
package struct Keyring: Sendable {
    package let signing: KeyPair
    package let refresh: KeyPair
    package let verdict: KeyPair
    /// The keys of the JWKS: the signing key first.
    package let published: [JWK]
    /// Keys this deployment's hashes.
    package let hasher: KeyedHasher

    private let accessKeys: [String: RSAPublicKey]
    private let refreshKeys: [String: KeyPair]

    /// `nil` unless each purpose has a current key.
    package init?(_ pairs: [KeyPair], hasher: KeyedHasher) {
        func current(_ purpose: KeyPurpose) -> KeyPair? {
            pairs.first { $0.purpose == purpose && $0.state == .current }
        }
        guard let signing = current(.access), let refresh = current(.refresh), let verdict = current(.verdict) else {
            return nil
        }
        self.signing = signing
        self.refresh = refresh
        self.verdict = verdict
        self.hasher = hasher
        let others = pairs.filter { $0.purpose == .access && $0.state.isUsable && $0.kid != signing.kid }
        published = [signing.jwk] + others.sorted { $0.createdAt > $1.createdAt }.map(\.jwk)
        accessKeys = Dictionary(published.map { ($0.kid, $0.key) }, uniquingKeysWith: { first, _ in first })
        refreshKeys = Dictionary(
            pairs.filter { $0.purpose == .refresh && $0.state.isUsable }.map { ($0.kid, $0) },
            uniquingKeysWith: { first, _ in first })
    }

    package func accessKey(_ kid: String) -> RSAPublicKey? { accessKeys[kid] }

    package func refreshKey(_ kid: String) -> KeyPair? { refreshKeys[kid] }
}

/// Hashes under a key of this deployment, so that a leaked database does not tell which value a hash stands for.
package struct KeyedHasher: Sendable {
    private let key: Secret<[UInt8]>

    package init(key: Secret<[UInt8]>) {
        self.key = key
    }

    /// 32 bytes. `purpose` separates hashes that must not be comparable.
    package func hash(_ value: String, purpose: StaticString) -> [UInt8] {
        HMACSHA256.code(key: key.exposed, message: Array("\(purpose)\0\(value)".utf8))
    }

    /// The `sid` of tokens without a device session: `s_` and a hash of the identity session's id.
    package func accessSID(of sessionID: String) -> String {
        "s_" + Base64URL.encode(hash(sessionID, purpose: "access-sid").prefix(16))
    }
}
