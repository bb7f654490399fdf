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

    /// Whether it has a private half, and tokens of it may still be met.
    package var isUsable: Bool {
        switch self {
        case .next, .current, .retired: true
        case .removed, .compromised: false
        }
    }
}

/// One key as everybody may see it.
package struct PublicHalf: Sendable {
    package let purpose: KeyPurpose
    package let state: KeyState
    package let jwk: JWK
    package let createdAt: Timestamp
    /// When the present state began.
    package let stateAt: Timestamp

    /// - Parameter stateAt: `nil` where the key was made in its present state.
    package init(purpose: KeyPurpose, state: KeyState, jwk: JWK, createdAt: Timestamp, stateAt: Timestamp? = nil) {
        self.purpose = purpose
        self.state = state
        self.jwk = jwk
        self.createdAt = createdAt
        self.stateAt = stateAt ?? createdAt
    }

    /// The key set's keys: the signing key first, then the others, the newest first.
    package static func published(_ halves: [PublicHalf]) -> [JWK] {
        let access = halves.filter { $0.purpose == .access && $0.state.isUsable }
        let others = access.filter { $0.state != .current }.sorted {
            ($1.createdAt, $1.jwk.kid) < ($0.createdAt, $0.jwk.kid)
        }
        return (access.filter { $0.state == .current } + others).map(\.jwk)
    }
}

/// One key pair as it lies in memory.
package struct KeyPair: Sendable {
    package let privateKey: SigningKey
    package let publicHalf: PublicHalf

    package init(
        purpose: KeyPurpose, state: KeyState, privateKey: SigningKey, createdAt: Timestamp,
        stateAt: Timestamp? = nil
    ) {
        self.privateKey = privateKey
        publicHalf = PublicHalf(
            purpose: purpose, state: state, jwk: JWK(privateKey.publicKey), createdAt: createdAt, stateAt: stateAt)
    }

    package var purpose: KeyPurpose { publicHalf.purpose }
    package var state: KeyState { publicHalf.state }
    package var jwk: JWK { publicHalf.jwk }
    package var createdAt: Timestamp { publicHalf.createdAt }
    package var kid: String { jwk.kid }
}
