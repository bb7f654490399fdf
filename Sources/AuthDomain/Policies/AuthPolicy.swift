package import JOSE

/// What the operator has set, as the domain's rules read it. Immutable for the life of the process.
package struct AuthPolicy: Sendable {
    /// Public origin without a trailing slash; `iss` of every token, compared as text.
    package var issuer: String
    package var audiences: [String]
    package var scopes: ScopeSet
    package var gate: VerifiedGate
    package var accessLifetime: Duration
    package var refreshLifetime: Duration
    package var sessionMaxAge: Duration
    package var windows: RotationWindows
    package var offlineWrite: Duration
    package var verdictPolicy: VerdictPolicy
    /// Of one user, active or suspended.
    package var devicesMax = Limits.devicesMax
    /// What the header of an access token says.
    package var accessTokenType = AccessTokenType.atJWT
    /// A larger share of the linked sessions or users that vanishes at once is no verdict.
    package var vanishedPercentMax = Limits.vanishedPercentMax

    package init(
        issuer: String, audiences: [String], scopes: ScopeSet, gate: VerifiedGate, accessLifetime: Duration,
        refreshLifetime: Duration, sessionMaxAge: Duration, windows: RotationWindows, offlineWrite: Duration,
        verdictPolicy: VerdictPolicy
    ) {
        self.issuer = issuer
        self.audiences = audiences
        self.scopes = scopes
        self.gate = gate
        self.accessLifetime = accessLifetime
        self.refreshLifetime = refreshLifetime
        self.sessionMaxAge = sessionMaxAge
        self.windows = windows
        self.offlineWrite = offlineWrite
        self.verdictPolicy = verdictPolicy
    }

    /// `aud` of a refresh token, and the only one.
    package var tokenEndpoint: String { issuer + "/auth/token" }

    /// Where verifiers find the keys.
    package var keySetAddress: String { issuer + "/.well-known/jwks.json" }

    /// What an access token has to be at our own routes, and to be called live: not past its `exp`, for we know the time
    /// that it was issued by.
    package var accessTokens: JWTPolicy {
        // Every type that we mint: tokens live on when the setting changes. The keys of refresh tokens and proofs are others.
        JWTPolicy(
            type: .oneOf(AccessTokenType.allCases.map(\.rawValue)), issuers: [issuer], audiences: audiences + [issuer],
            leeway: .zero, aheadMax: Limits.issuedAheadMax, lifetimeMax: Limits.accessLifetimeMax)
    }

    /// An impersonation's access token ends sooner than anybody else's: nothing renews it.
    package var impersonationLifetime: Duration { min(accessLifetime, Limits.impersonationLifetimeMax) }
}
