import AuthDomain
import Crypto
import JOSE

/// The public keys that a token is verified by, and where they are from.
struct VerificationKeys: Sendable {
    /// For sentences: "the database", "the file", "the key set at …".
    let source: String
    let isDatabase: Bool
    /// Of access tokens.
    let kids: [String]
    private let access: [String: VerificationKey]
    private let keyring: Keyring?

    init(_ keyring: Keyring) {
        source = "the database"
        isDatabase = true
        kids = keyring.published.map(\.kid)
        access = Dictionary(keyring.published.map { ($0.kid, $0.key) }, uniquingKeysWith: { first, _ in first })
        self.keyring = keyring
    }

    init(_ set: JWKSet, from source: String) {
        self.source = source
        isDatabase = false
        kids = set.kids
        access = Dictionary(set.keys.map { ($0.kid, $0.key) }, uniquingKeysWith: { first, _ in first })
        keyring = nil
    }

    func key(_ kid: String, _ kind: TokenExpectation.Kind) -> VerificationKey? {
        switch kind {
        case .access, .other: access[kid]
        case .refresh: keyring?.refreshKey(kid)?.privateKey.publicKey
        case .verdict: keyring.flatMap { $0.verdict.kid == kid ? $0.verdict.privateKey.publicKey : nil }
        }
    }
}
