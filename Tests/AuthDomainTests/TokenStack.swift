import AuthDomain
import AuthTesting
import Crypto
import JOSE
import JSON
import Primitives
import Testing

/// A token service with everything around it in memory, and one signed-in user: `ada`, with the session `s-ada`.
struct TokenStack {
    static let secret = Secret(Array("better-auth-secret-1234567890-abcdef".utf8))
    static let installation = "installation-0000-0001"

    let clock = TestClock()
    let random: SeededRandom
    let faults = PortFaults()
    let store: MemoryStore
    let keys: FixedKeyring
    let signer: InlineSigner
    let service: TokenService
    let gate: AccessGate
    let devices: DeviceService
    let policy: AuthPolicy

    init(seed: UInt64 = 1, keyring: Keyring? = FixedKeys.keyring, _ adjust: (inout AuthPolicy) -> Void = { _ in }) {
        var policy = AuthPolicy(
            issuer: "https://auth.example.com", audiences: ["https://auth.example.com", "powersync"],
            scopes: ScopeSet(["api", "sync"]),
            gate: VerifiedGate(mode: .scopes, scopes: ScopeSet(["sync"]), audiences: ["powersync"]),
            accessLifetime: .minutes(30), refreshLifetime: .days(30), sessionMaxAge: .days(90),
            windows: RotationWindows(replay: .days(7), concurrency: .seconds(10)), offlineWrite: .days(7),
            verdictPolicy: .careful)
        adjust(&policy)
        self.policy = policy
        random = SeededRandom(seed: seed)
        store = MemoryStore(faults: faults)
        keys = FixedKeyring(keyring, faults: faults)
        signer = InlineSigner(faults: faults)
        service = TokenService(
            policy: policy, store: store, identities: store, keys: keys, signer: signer, sealing: FixedKeys.sealing(),
            sessionTokens: SessionTokenReader(secrets: [Self.secret], allowsUnsigned: false), lookup: .plain,
            clock: clock, random: random)
        gate = AccessGate(policy: policy, store: store, keys: keys, clock: clock)
        devices = DeviceService(store: store, sessions: store, gate: gate, clock: clock)
        signIn("ada")
    }

    /// A user and their session, made now: id `s-NAME`, token `token-of-NAME`.
    func signIn(
        _ userID: String, session: String? = nil, isVerified: Bool = true, lifetime: Duration = .days(7),
        impersonatedBy: String? = nil
    ) {
        store.putUser(userID, isVerified: isVerified)
        putSession(session ?? userID, of: userID, expiresIn: lifetime, impersonatedBy: impersonatedBy)
    }

    func putSession(
        _ name: String, of userID: String, createdAt: Timestamp? = nil, expiresIn lifetime: Duration = .days(7),
        impersonatedBy: String? = nil, id: String? = nil
    ) {
        let session = IdentitySession(
            id: id ?? "s-\(name)", userID: userID, createdAt: createdAt ?? clock.now(),
            expiresAt: clock.now() + lifetime,
            impersonatedBy: impersonatedBy)
        store.putSession(session, column: "token-of-\(name)")
    }

    func token(of name: String) -> String { SessionToken.signed("token-of-\(name)") }

    // MARK: The three ways to a token

    func exchange(
        _ name: String = "ada", installation: String? = installation, scopes: ScopeSet? = nil,
        clientID: String? = nil, push: String? = nil
    ) async throws(AuthFailure) -> TokenAnswer {
        try await service.exchange(
            request(name, installation: installation, scopes: scopes, clientID: clientID, push: push))
    }

    func accessToken(
        _ name: String = "ada", installation: String? = nil, scopes: ScopeSet? = nil
    ) async throws(AuthFailure) -> TokenAnswer {
        try await service.accessToken(request(name, installation: installation, scopes: scopes))
    }

    func refresh(
        _ token: String, key: String? = nil, scopes: ScopeSet? = nil, clientID: String? = nil
    ) async throws(AuthFailure) -> TokenAnswer {
        let idempotencyKey: IdempotencyKey?
        do throws(RequestFault) {
            idempotencyKey = if let key { try IdempotencyKey(key) } else { nil }
        } catch {
            throw .invalid(error)
        }
        return try await service.refresh(
            .init(token: token, key: idempotencyKey, options: .init(clientID: clientID, scopes: scopes)))
    }

    private func request(
        _ name: String, installation: String?, scopes: ScopeSet? = nil, clientID: String? = nil, push: String? = nil
    ) -> TokenService.SessionRequest {
        .init(
            token: token(of: name), device: installation.flatMap { try? .sample($0) },
            push: push.flatMap { try? PushRegistration(token: $0, provider: "apns") },
            options: .init(clientID: clientID, scopes: scopes))
    }

    // MARK: What is stored

    func session(_ answer: TokenAnswer) throws -> DeviceSession {
        try #require(UUID(answer.sessionID).flatMap { store.deviceSession($0) })
    }

    func generation(_ answer: TokenAnswer) throws -> Int64 { try session(answer).rotation.generation }

    func end(_ answer: TokenAnswer) throws -> RefusalReason? { try session(answer).rotation.end }
}

extension DeviceMetadata {
    static func sample(
        _ installationID: String = TokenStack.installation, platform: String? = "ios", name: String? = "Ada's phone"
    ) throws -> DeviceMetadata {
        try DeviceMetadata(
            installationID: installationID, platform: platform, name: name, model: "iPhone17,1", osVersion: "26.1",
            appVersion: "1.2.3")
    }
}

extension SessionToken {
    static func signed(_ token: String) -> String { SessionTokenReader.sign(token, secret: TokenStack.secret) }
}

extension TokenAnswer {
    /// The refresh token.
    var refreshToken: String { get throws { try #require(refresh).token } }
}

/// How an operation failed; `nil` when it did not.
func failure<Value>(_ body: () async throws(AuthFailure) -> Value) async -> AuthFailure? {
    do throws(AuthFailure) {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}

/// The refusal that an operation ends with.
func refusal<Value>(
    _ body: () async throws(AuthFailure) -> Value, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> Refusal {
    let found = await failure(body)
    guard case .refused(let refusal) = found else {
        return try #require(
            nil as Refusal?, "no refusal but \(String(describing: found))", sourceLocation: sourceLocation)
    }
    return refusal
}

/// Header and claims of a token, without a look at its signature.
struct DecodedToken {
    let header: JSONObject
    let claims: JSONObject

    init(_ token: String) throws {
        let jws = try UnverifiedJWS(token)
        header = jws.header
        claims = try #require(try JSONParser.parse(jws.payload).objectValue)
    }
}
