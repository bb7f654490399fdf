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

    /// Verdict keys that signed once and may still sign what their clients believe, in the order of their retirement.
    private let retiredVerdicts: [KeyPair]
    private let verdictCompromisedAt: Timestamp?
    private let accessKeys: [String: VerificationKey]
    private let refreshKeys: [String: KeyPair]
    private let refreshVerifiers: [String: VerificationKey]
    private let destroyed: Set<String>

    /// `nil` unless each purpose has a current key.
    ///
    /// - Parameter publicHalves: of keys whose private half is destroyed, or does not open.
    package init?(_ pairs: [KeyPair], publicHalves: [PublicHalf] = [], hasher: KeyedHasher) {
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
        let all = pairs.map(\.publicHalf) + publicHalves
        retiredVerdicts = pairs.filter { $0.purpose == .verdict && $0.state == .retired }
            .sorted { $0.publicHalf.stateAt < $1.publicHalf.stateAt }
        verdictCompromisedAt = all.filter { $0.purpose == .verdict && $0.state == .compromised }.map(\.stateAt).max()
        published = PublicHalf.published(all)
        accessKeys = Self.keys(published)
        refreshVerifiers = Self.keys(all.filter { $0.purpose == .refresh }.map(\.jwk))
        destroyed = Set(all.filter { !$0.state.isUsable }.map(\.jwk.kid))
        refreshKeys = Dictionary(
            pairs.filter { $0.purpose == .refresh && $0.state.isUsable }.map { ($0.kid, $0) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The verdict key that a client believes which signed in at that moment; `nil` where one has leaked since, so that
    /// there is none whose word alone may wipe. Other servers may have shown an older key for a moment (`keyFollowing`).
    package func verdict(shownAt signIn: Timestamp) -> KeyPair? {
        func isEarlier(than end: Timestamp) -> Bool { signIn < end + Limits.keyFollowing }
        if let verdictCompromisedAt, isEarlier(than: verdictCompromisedAt) { return nil }
        return retiredVerdicts.first { isEarlier(than: $0.publicHalf.stateAt) } ?? verdict
    }

    package func accessKey(_ kid: String) -> VerificationKey? { accessKeys[kid] }

    /// Signs refresh tokens, or signs them again.
    package func refreshKey(_ kid: String) -> KeyPair? { refreshKeys[kid] }

    /// Checks refresh tokens, of every key that there ever was: what ended is told by the row and not by a missing key,
    /// and who has a private half mints nothing by it, since `jti` is derived from what only the row knows.
    package func refreshVerifier(_ kid: String) -> VerificationKey? { refreshVerifiers[kid] }

    /// Whether the private half is gone for good, and not just out of reach.
    package func isDestroyed(_ kid: String) -> Bool { destroyed.contains(kid) }

    private static func keys(_ all: [JWK]) -> [String: VerificationKey] {
        Dictionary(all.map { ($0.kid, $0.key) }, uniquingKeysWith: { first, _ in first })
    }
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

    /// Of a key's public half: no one else can add a key to the key set.
    package func publicMAC(kid: String, purpose: KeyPurpose) -> [UInt8] {
        hash("\(purpose.rawValue) \(kid)", purpose: "public-half")
    }

    /// The `sid` of tokens without a device session: `s_` and a hash of the identity session's id.
    package func accessSID(of sessionID: String) -> String {
        "s_" + Base64URL.encode(hash(sessionID, purpose: "access-sid").prefix(16))
    }
}
