import AuthAPI
import AuthDomain
import AuthTesting
import Crypto
import HTTP
import JSON
import Primitives
import Telemetry
import Testing

/// The whole API over the domain's services and stores in memory. Requests go through the HTTP parser as bytes.
struct World {
    static let issuer = "https://auth.example.com"
    static let sessionSecret = "unit-test-secret-0123456789abcdef-not-real"
    /// Of the resource server `api`.
    static let resourceServerSecret = "s+cret%41:of the API"
    static let exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"
    static let sessionType = "urn:sallyport:token-type:session"
    static let installation = "installation-0001"

    let faults = PortFaults()
    let clock = TestClock()
    let store: MemoryStore
    let keys: FixedKeyring
    let readiness = StaticReadiness()
    let feed = ScriptedFeed()
    let log = LogRecord()
    let policy: AuthPolicy
    /// What the limiter takes for the time since some instant.
    let elapsed = Locked(Duration.hours(5))
    let metrics = Metrics()
    let api: AuthAPI

    init(
        gate: VerifiedGate.Mode = .scopes, verdictPolicy: VerdictPolicy = .careful,
        keyring: Keyring? = FixedKeys.keyring, issuer: String = Self.issuer, proxies: [String] = [],
        origins: [String] = [], rates: RateLimits? = nil, concurrencyMax: Int? = nil,
        accessLogEvery: Int = 1, devicesMax: Int = 100
    ) {
        store = MemoryStore(faults: faults)
        keys = FixedKeyring(keyring, faults: faults)
        var policy = AuthPolicy(
            issuer: issuer, audiences: [issuer, "powersync"], scopes: ScopeSet(["api", "sync"]),
            gate: VerifiedGate(mode: gate, scopes: ScopeSet(["sync"]), audiences: ["powersync"]),
            accessLifetime: .minutes(30), refreshLifetime: .days(30), sessionMaxAge: .days(90),
            windows: RotationWindows(replay: .days(7), concurrency: .seconds(10)), offlineWrite: .days(7),
            verdictPolicy: verdictPolicy)
        policy.devicesMax = devicesMax
        self.policy = policy
        let random = SeededRandom()
        let limiter = rates.map { [elapsed] in RateLimiter($0) { elapsed.withLock { $0 } } }
        let throttle: any SessionThrottle = limiter ?? NoThrottle() as any SessionThrottle
        let access = AccessGate(policy: policy, store: store, keys: keys, clock: clock, throttle: throttle)
        let tokens = TokenService(
            policy: policy, store: store, identities: store, keys: keys, signer: InlineSigner(faults: faults),
            sealing: FixedKeys.sealing(),
            sessionTokens: SessionTokenReader(
                secrets: [Secret(Array(Self.sessionSecret.utf8))], allowsUnsigned: false),
            lookup: .plain, clock: clock, random: random, throttle: throttle)
        api = AuthAPI(
            services: APIServices(
                tokens: tokens,
                devices: DeviceService(store: store, sessions: store, gate: access, clock: clock),
                gate: access,
                issued: IssuedTokens(
                    policy: policy, store: store, gate: access, keys: keys, sealing: FixedKeys.sealing(),
                    clock: clock),
                revocations: RevocationFeed(
                    policy: policy, store: feed, clock: clock, pause: { [feed] _ in feed.pass() },
                    isStopping: { false }),
                resourceServers: ResourceServers([("api", SHA256.hash(Array(Self.resourceServerSecret.utf8)))]),
                keys: keys, readiness: readiness, policy: policy, clock: clock, random: random,
                logger: Logger(level: .debug, clock: clock, sink: log),
                version: ServerVersion(version: "1.2.3"), metrics: metrics, accessLogEvery: accessLogEvery),
            admission: Admission(
                proxies: TrustedProxies(proxies.compactMap { CIDR($0) }), origins: CrossOriginPolicy(origins),
                limiter: limiter, concurrencyMax: concurrencyMax),
            monotonic: { .microseconds(7) })
        store.putUser("user-1")
    }
}

/// Calls, as a client makes them.
extension World {
    /// - Returns: what the server's connection would answer: the parser's own refusals too.
    func send(
        _ method: String, _ target: String, _ fields: [String] = [], body: String? = nil,
        peer: String = "192.0.2.1", concurrency: Int = 1
    ) async throws -> Reply {
        var head = ["\(method) \(target) HTTP/1.1", "Host: auth.example.com"] + fields
        let content = Array((body ?? "").utf8)
        if body != nil { head.append("Content-Length: \(content.count)") }
        return try await send(
            Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + content, peer: peer, concurrency: concurrency)
    }

    func send(_ bytes: [UInt8], peer: String = "192.0.2.1", concurrency: Int = 1) async throws -> Reply {
        var parser = RequestParser()
        parser.append(bytes)
        var head: RequestHead?
        while true {
            switch parser.next() {
            case .head(let next): head = next
            case .end(let body):
                var request = HTTPRequest(
                    head: try #require(head), body: body, peer: try #require(IPAddress(peer)))
                request.concurrency = concurrency
                return Reply(await api.respond(to: request))
            case .failed(let error):
                guard let head else { return Reply(api.refuse(.unacceptable(error))) }
                let request = HTTPRequest(head: head, body: [], peer: try #require(IPAddress(peer)))
                return Reply(api.refuse(.unacceptable(error), of: request))
            case .needMore:
                Issue.record("the request is cut")
                throw Cut()
            }
        }
    }

    struct Cut: Error {}

    func token(_ fields: [(String, String)], _ header: [String] = []) async throws -> Reply {
        try await send(
            "POST", "/auth/token", ["Content-Type: application/x-www-form-urlencoded"] + header,
            body: FormCoding.encode(fields.map { (name: $0.0, value: $0.1) }))
    }

    func tokenJSON(_ text: String, _ header: [String] = []) async throws -> Reply {
        try await send("POST", "/auth/token", ["Content-Type: application/json"] + header, body: text)
    }

    func exchange(_ session: String, device: [String] = Self.device()) async throws -> Reply {
        try await token(
            [("grant_type", Self.exchangeGrant), ("subject_token", session), ("subject_token_type", Self.sessionType)],
            device)
    }

    func refresh(_ token: String, _ more: [(String, String)] = [], _ header: [String] = []) async throws -> Reply {
        try await self.token([("grant_type", "refresh_token"), ("refresh_token", token)] + more, header)
    }

    func get(_ target: String, bearer: String) async throws -> Reply {
        try await send("GET", target, ["Authorization: Bearer \(bearer)"])
    }

    static func device(_ id: String = installation, _ more: [String] = []) -> [String] {
        ["X-Device-Id: \(id)", "X-Device-Platform: ios", "X-Device-Name: Grün 📱"] + more
    }

    /// A live session of the identity store.
    ///
    /// - Returns: its signed token.
    func session(_ token: String = "session-1", of user: String = "user-1", age: Duration = .seconds(60)) -> String {
        store.putSession(
            IdentitySession(
                id: "id-of-\(token)", userID: user, createdAt: clock.now() - age, expiresAt: clock.now() + .days(7),
                impersonatedBy: nil),
            column: token)
        return SessionTokenReader.sign(token, secret: Secret(Array(Self.sessionSecret.utf8)))
    }

    /// Signs in on a device.
    func signedIn(
        _ token: String = "session-1", of user: String = "user-1", age: Duration = .seconds(60),
        installation: String = Self.installation
    ) async throws -> SignedIn {
        let body = try await exchange(session(token, of: user, age: age), device: Self.device(installation)).ok()
        return SignedIn(
            access: try body.text("access_token"), refresh: try body.text("refresh_token"), sid: try body.text("sid"),
            deviceID: try body.text("device_id"), body: body)
    }

    struct SignedIn {
        let access: String
        let refresh: String
        let sid: String
        let deviceID: String
        let body: JSONObject
    }
}

final class StaticReadiness: ReadinessSource {
    let current = Locked<[ReadinessCheck]>([ReadinessCheck("database"), ReadinessCheck("signing_key")])

    /// How often somebody looked, and how long each look takes.
    let looks = Locked(0)
    let duration = Locked(Duration.zero)

    func checks() async -> [ReadinessCheck] {
        looks.withLock { $0 += 1 }
        let duration = duration.withLock { $0 }
        if duration > .zero { try? await Task.sleep(for: duration) }
        return current.withLock { $0 }
    }
}

/// The log's lines, as a reader of the log gets them.
final class LogRecord: LogSink {
    private let kept = Locked<[String]>([])

    var lines: [String] { kept.withLock { $0 } }

    func write(_ line: [UInt8]) { kept.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
}
