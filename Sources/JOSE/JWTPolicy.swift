package import Crypto

/// What a token must be besides well signed.
///
/// Always demanded: `iss` of the list, `aud` holding one of the list, `sub` (a text that is not empty), `iat` not ahead
/// of the clock, `exp` after it. All texts are compared byte by byte.
package struct JWTPolicy: Sendable {
    package enum TypeRule: Equatable, Sendable {
        /// The header's `typ` is one of these, without regard to letter case and to a leading `application/`.
        /// Source: RFC 7515 §4.1.9, RFC 8725 §3.11.
        case oneOf([String])
        /// As above, or there is none: for issuers that do not type their tokens.
        case oneOfOrMissing([String])
        case any
    }

    package enum ExpiryRule: Equatable, Sendable {
        case refusesExpired
        /// For a refresh token: its session's own end has the first word, so that the caller compares `expiresAt`.
        case isLeftToTheCaller
    }

    package var type: TypeRule
    package var issuers: [String]
    /// One must be in the token's `aud`. An empty list refuses every token.
    package var audiences: [String]
    /// How long past its `exp` a token is taken.
    package var leeway: Duration
    /// How far ahead of the clock `iat` and `nbf` may be.
    package var aheadMax: Duration
    package var expiry: ExpiryRule
    /// Of `exp - iat`.
    package var lifetimeMax: Duration?
    /// Claims that must be there besides those above, whatever their value.
    package var requiredClaims: [String]
    package var algorithms: Set<SignatureAlgorithm>

    package init(
        type: TypeRule, issuers: [String], audiences: [String], leeway: Duration = .tokenLeeway,
        aheadMax: Duration = .tokenLeeway, expiry: ExpiryRule = .refusesExpired, lifetimeMax: Duration? = nil,
        requiredClaims: [String] = [], algorithms: Set<SignatureAlgorithm> = [.rs256]
    ) {
        self.type = type
        self.issuers = issuers
        self.audiences = audiences
        self.leeway = leeway
        self.aheadMax = aheadMax
        self.expiry = expiry
        self.lifetimeMax = lifetimeMax
        self.requiredClaims = requiredClaims
        self.algorithms = algorithms
    }
}
