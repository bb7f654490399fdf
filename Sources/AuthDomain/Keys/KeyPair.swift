package import Crypto
package import JOSE
package import Primitives

package enum KeyPurpose: String, Sendable, CaseIterable {
    /// Signs access tokens; published in the JWKS.
    case access
    /// Signs refresh tokens; never published.
    case refresh
    /// Signs verdicts; shown to each client as `verdict_key`, not in the JWKS.
    case verdict
}

/// Contract section 2.5; for refresh and verdict keys without the publishing.
package enum KeyState: String, Sendable, CaseIterable {
    case next, current, retired, removed, compromised

    /// Whether tokens of it may still be met.
    package var isUsable: Bool {
        switch self {
        case .next, .current, .retired: true
        case .removed, .compromised: false
        }
    }
}

/// One key pair as it lies in memory.
package struct KeyPair: Sendable {
    package let purpose: KeyPurpose
    package let state: KeyState
    package let privateKey: RSAPrivateKey
    package let jwk: JWK
    package let createdAt: Timestamp

    package init(purpose: KeyPurpose, state: KeyState, privateKey: RSAPrivateKey, createdAt: Timestamp) {
        self.purpose = purpose
        self.state = state
        self.privateKey = privateKey
        self.createdAt = createdAt
        jwk = JWK(privateKey.publicKey)
    }

    package var kid: String { jwk.kid }
}
