package import Crypto
import JOSE
package import Primitives

/// The three ways to a token: exchange, refresh, and an access token for a session.
///
/// Each is: prove what was presented, read, decide by a pure function, write, sign. Nothing is held while signing, and a
/// refusal or an outage never moves a generation.
package struct TokenService: Sendable {
    let policy: AuthPolicy
    let store: any SessionStore
    let absences: AbsenceCheck
    let keys: any KeyringSource
    let sealing: KeyEncryptionKeys
    let sessionTokens: SessionTokenReader
    let lookup: TokenLookup
    let clock: any WallClock
    let random: any RandomSource
    let throttle: any SessionThrottle
    let turns: any WriteTurns
    let mint: TokenMint
    let replays = ReplayCounter()

    package init(
        policy: AuthPolicy, store: any SessionStore, identities: any IdentityWatchStore, keys: any KeyringSource,
        signer: any TokenSigner, sealing: KeyEncryptionKeys, sessionTokens: SessionTokenReader, lookup: TokenLookup,
        clock: any WallClock,
        random: any RandomSource, throttle: any SessionThrottle = NoThrottle(), turns: any WriteTurns = NoTurns()
    ) {
        self.policy = policy
        self.store = store
        absences = AbsenceCheck(identities, vanishedPercentMax: policy.vanishedPercentMax)
        self.keys = keys
        self.sealing = sealing
        self.sessionTokens = sessionTokens
        self.lookup = lookup
        self.clock = clock
        self.random = random
        self.throttle = throttle
        self.turns = turns
        mint = TokenMint(policy: policy, signer: signer, random: random)
    }

    /// What a request for tokens may say beside its credential.
    package struct Options: Sendable {
        package var clientID: String?
        package var scopes: ScopeSet?

        package init(clientID: String? = nil, scopes: ScopeSet? = nil) {
            self.clientID = clientID
            self.scopes = scopes
        }
    }

    static let defaultClientID = "app"

    /// Scopes asked for, of those that may be had. RFC 6749 §6: a refresh may narrow, never widen.
    func narrowed(_ wanted: ScopeSet?, within granted: ScopeSet) throws(AuthFailure) -> ScopeSet {
        guard let wanted else { return granted }
        guard granted.contains(wanted) else { throw .invalid(.scopeInvalid) }
        return wanted
    }

    func required() async throws(AuthFailure) -> Keyring {
        try await available { () async throws(Unavailability) in try await keys.current() }
    }

    /// Comes before everything that ends or expires by the time.
    func requireClock() throws(AuthFailure) {
        if clock.isInDoubt { throw .unavailable(.busy) }
    }

    /// Comes before every refusal that rests on the identity store: what a replica says may be over, and while too many
    /// rows are not there, none that is missing says anything.
    func requireCredible(
        _ evidence: ExchangeView.Evidence, at now: Timestamp
    ) async throws(AuthFailure) {
        let isCredible =
            switch evidence {
            case .ours: true
            case .rows: !absences.mayBeBehind
            case .absence: try await isAbsenceCredible(at: now)
            }
        guard isCredible else { throw .unavailable(.dependency) }
    }

    /// For whoever found no row of a user: throws where that means nothing.
    package func requireCredibleAbsence(at now: Timestamp) async throws(AuthFailure) {
        try await requireCredible(.absence, at: now)
    }

    func isAbsenceCredible(at now: Timestamp) async throws(AuthFailure) -> Bool {
        try await available { () async throws(Unavailability) in try await absences.isCredible(at: now) }
    }
}
