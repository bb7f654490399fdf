package import JOSE
package import Primitives

/// Everything that a successful token answer says (contract section 4); the API writes it as JSON.
package struct TokenAnswer: Sendable {
    package let accessToken: String
    package let accessExpiresAt: Timestamp
    package let refresh: Refresh?
    package let scopes: ScopeSet
    package let sessionID: String
    package let deviceID: UUID?
    package let verdictKey: JWK
    /// Compact JWS `verdict-key+jwt` of `verdictKey`; set where the client signed in under another one.
    package let verdictKeyProof: String?
    package let now: Timestamp
    /// Of a refresh; `nil` for an exchange.
    package private(set) var outcome: RefreshOutcome?

    func after(_ outcome: RefreshOutcome) -> TokenAnswer {
        var answer = self
        answer.outcome = outcome
        return answer
    }

    package struct Refresh: Sendable {
        package let token: String
        package let expiresAt: Timestamp
        /// The absolute end of the device session.
        package let sessionExpiresAt: Timestamp
        /// Less than one refresh lifetime is left: sign in again while there is a network.
        package let isReauthSoon: Bool
        package let offline: OfflinePolicy
    }
}

/// How long an app may go on without us. Contract section 4.
package struct OfflinePolicy: Equatable, Sendable {
    package static let version: Int64 = 1

    /// Reading lasts as long as the refresh token.
    package let readUntil: Timestamp
    package let writeUntil: Timestamp

    /// - Parameter refreshedAt: when the client was last here.
    package init(refreshExpiresAt: Timestamp, refreshedAt: Timestamp, write: Duration) {
        readUntil = refreshExpiresAt
        writeUntil = min(refreshedAt.wholeSeconds + write, refreshExpiresAt)
    }
}
