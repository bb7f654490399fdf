import AuthAPI
import AuthDomain
import AuthStore
import Crypto
import Postgres
import Primitives
import Reactor
import Signing
import Telemetry

/// From settings to an application that serves: schema, deployment, keys, identity store, in that order.
///
/// What is wrong for good ends the start with a sentence; what is away is waited for.
struct Boot: Sendable {
    let settings: Settings
    let issuer: Issuer
    let kind: DeploymentKind
    let loops: Loops
    let keyring: PostgresKeyring
    let sealing: KeyEncryptionKeys
    let clock: FollowedClock
    let throttle: any SessionThrottle
    let logger: Logger
    let measures: ProcessMetrics
    /// Set when the process begins to drain.
    let stopping: Locked<Bool>
    /// Set for `SALLYPORT_DRAIN_PAUSE` before that.
    let isPausing: Locked<Bool>
    private let random = SystemRandom()

    init(
        settings: Settings, issuer: Issuer, kind: DeploymentKind, loops: Loops, keyring: PostgresKeyring,
        sealing: KeyEncryptionKeys, clock: FollowedClock, throttle: any SessionThrottle, logger: Logger,
        measures: ProcessMetrics, stopping: Locked<Bool>, isPausing: Locked<Bool>
    ) {
        self.settings = settings
        self.issuer = issuer
        self.kind = kind
        self.loops = loops
        self.keyring = keyring
        self.sealing = sealing
        self.clock = clock
        self.throttle = throttle
        self.logger = logger
        self.measures = measures
        self.stopping = stopping
        self.isPausing = isPausing
    }

    /// Waits for the database as long as it takes; runs on the first loop.
    func run() async throws(StartFailure) -> Started {
        // Once: it takes connections beside those of the pools.
        try await waiting { () async throws(Attempt) in try await refusePoolers() }
        return try await waiting { () async throws(Attempt) in try await attempt() }
    }

    private func waiting<Value>(
        _ step: () async throws(Attempt) -> Value
    ) async throws(StartFailure) -> Value {
        var pause = Limits.startPauseMin
        while true {
            do throws(Attempt) {
                return try await step()
            } catch {
                switch error {
                case .failed(let failure): throw failure
                case .unavailable(let reason):
                    logger.warning("waiting for the database", [LogField("reason", reason)])
                }
            }
            await loops.first.main.loop.sleep(for: pause)
            pause = min(pause * 2, Limits.startPauseMax)
        }
    }

    private enum Attempt: Error {
        case failed(StartFailure)
        case unavailable(String)
    }

    private func attempt() async throws(Attempt) -> Started {
        try await verifySchema()
        let deployment = try await database(loops.first.main) { () async throws(DatabaseError) in
            try await Deployment.claim(kind, in: loops.first.main)
        }
        guard deployment.kind == kind else {
            throw .failed(.wrongDeployment(database: deployment.kind?.rawValue ?? "", server: kind.rawValue))
        }
        // Before the first key is made: it says when.
        let clockFollowing = ClockFollowing(clock: clock, database: loops.first.main, logger: logger)
        try await database(loops.first.main) { () async throws(DatabaseError) in try await clockFollowing.start() }
        try await loadKeys()
        let mapping = try setting { () throws(SettingProblem) in try settings.identityMapping() }
        let catalog = try await catalog(mapping)
        try await database(loops.first.main) { () async throws(DatabaseError) in
            try await mapping.record(in: loops.first.main, ifAlsoOf: loops.first.identity)
        }
        try await checkTimeZone(mapping)
        try await warnOfHiddenRows(mapping)
        if loops.first.identity.mayReadReplica {
            logger.warning("the identity store may be a replica: only what it shows as live is believed")
        }
        let store = PostgresStore(
            databases: loops.databases, mapping: mapping, catalog: catalog, keys: keyring, sealing: sealing,
            random: random, logger: logger, metrics: measures.metrics)
        let health = WatchHealth(poll: settings.identityPoll, metrics: measures.metrics)
        return try await Started(
            services: services(
                store,
                Readiness(
                    databases: loops.databases, keys: keyring, clock: clock, mapping: mapping, catalog: catalog,
                    watch: health, isPausing: isPausing, isHidingRows: { (try? await store.isHidingRows()) ?? false }),
                sessionTokens(deployment), health),
            keyring: keyring, keys: following(), clock: clockFollowing, identities: identities(store, health),
            database: loops.first.main)
    }

    /// Before the first prepared statement, which would fail by chance.
    private func refusePoolers() async throws(Attempt) {
        let (main, identity) = (loops.first.main, loops.first.identity)
        for (url, database) in [("SALLYPORT_DATABASE_URL", main), ("SALLYPORT_IDENTITY_DATABASE_URL", identity)] {
            if database === main, url != "SALLYPORT_DATABASE_URL" { continue }
            let fault = try await self.database(database) { () async throws(DatabaseError) in
                try await database.poolerFault()
            }
            if let fault { throw .failed(.setting(SettingProblem(name: url, message: fault.description))) }
        }
    }

    /// With another key-encryption key than the one that sealed the keys nothing gets better by waiting.
    private func loadKeys() async throws(Attempt) {
        do throws(Attempt) {
            try await domain { () async throws(AuthDomain.Unavailability) in try await keyring.loadOrCreate() }
        } catch {
            throw keyring.isSealedByAnotherKey ? .failed(.otherKeyEncryptionKey) : error
        }
    }

    private func verifySchema() async throws(Attempt) {
        do throws(MigrationError) {
            let unknown = try await MigrationRunner(migrations: Migrations.all).verify(on: loops.first.main)
            for name in unknown {
                logger.warning("the database has a newer migration", [LogField("db.migration", name)])
            }
        } catch {
            switch error {
            case .unavailable: throw .unavailable(loops.first.main.explanation(of: error))
            case .pending: throw .failed(.schema("\(error); run `sallyport migrate` with this version"))
            case .changed, .databaseIsNewer, .outOfOrder, .failed: throw .failed(.schema(error.description))
            }
        }
    }

    private func catalog(_ mapping: IdentityMapping) async throws(Attempt) -> IdentityCatalog {
        do throws(IdentityCatalog.ReadFailure) {
            return try await IdentityCatalog.read(mapping, from: loops.first.identity)
        } catch {
            switch error {
            case .unavailable(let reason):
                throw .unavailable("identity store: " + loops.first.identity.explanation(of: reason))
            case .problem(let problem): throw .failed(.identityStore(problem.description))
            }
        }
    }

    private func checkTimeZone(_ mapping: IdentityMapping) async throws(Attempt) {
        let isKnown = try await database(loops.first.identity) { () async throws(DatabaseError) in
            try await mapping.isTimeZoneKnown(to: loops.first.identity)
        }
        guard isKnown else {
            throw .failed(
                .setting(
                    SettingProblem(
                        name: "SALLYPORT_IDENTITY_NAIVE_TIMEZONE",
                        message: "PostgreSQL knows no such time zone: write a name such as Europe/Berlin, or UTC+02:00")
                ))
        }
    }

    private func warnOfHiddenRows(_ mapping: IdentityMapping) async throws(Attempt) {
        let tables = try await database(loops.first.identity) { () async throws(DatabaseError) in
            try await IdentityVisibility.read(mapping, from: loops.first.identity)
        }
        for warning in tables.compactMap(\.warning) {
            logger.warning("rows of the identity store may be hidden", [LogField("identity.warning", warning)])
        }
    }

    /// Standalone deployments sign session tokens themselves; those of an application need its secret.
    private func sessionTokens(
        _ deployment: Deployment
    ) async throws(Attempt) -> SessionTokenReader {
        var secrets = settings.identitySecrets
        if deployment.isStandalone {
            secrets.append(
                try await domain { () async throws(AuthDomain.Unavailability) in try await keyring.identitySecret() })
        }
        guard !secrets.isEmpty || settings.allowsUnsignedSessions else { throw .failed(.noIdentitySecret) }
        return SessionTokenReader(secrets: secrets, allowsUnsigned: settings.allowsUnsignedSessions)
    }

    private func identities(_ store: PostgresStore, _ health: WatchHealth) -> IdentityFollowing {
        IdentityFollowing(
            watch: IdentityWatch(
                store: store, follow: settings.identityFollow, vanishedPercentMax: settings.vanishedPercentMax,
                clock: clock),
            poll: settings.identityPoll, clock: clock, health: health, database: loops.first.main, logger: logger)
    }

    private func services(
        _ store: PostgresStore, _ readiness: Readiness, _ sessionTokens: SessionTokenReader, _ health: WatchHealth
    ) -> APIServices {
        let policy = settings.policy(issuer: issuer)
        let gate = AccessGate(policy: policy, store: store, keys: keyring, clock: clock, throttle: throttle)
        return APIServices(
            tokens: TokenService(
                policy: policy, store: store, identities: store, keys: keyring,
                signer: BatchSigner(logger: logger, mints: measures.mints), sealing: sealing,
                sessionTokens: sessionTokens, lookup: settings.tokenLookup, clock: clock, random: random,
                throttle: throttle, turns: loops.turns),
            devices: DeviceService(
                store: store, sessions: store, gate: gate, turns: loops.turns, clock: clock),
            gate: gate,
            issued: IssuedTokens(
                policy: policy, store: store, gate: gate, keys: keyring, sealing: sealing, turns: loops.turns,
                clock: clock),
            revocations: RevocationFeed(
                policy: policy, store: store, clock: clock,
                pause: { duration in await EventLoop.current?.sleep(for: duration) },
                isStopping: { [stopping] in stopping.withLock { $0 } }),
            resourceServers: settings.callers, keys: keyring,
            readiness: readiness,
            policy: policy, clock: clock, random: BlockRandom(), logger: logger,
            version: ServerVersion(version: Version.text), metrics: measures.metrics,
            gauges: { [measures] in measures.gauges() + [health.gauge] }, accessLogEvery: settings.accessLogEvery)
    }

    private func following() -> KeyFollowing {
        KeyFollowing(
            keyring: keyring,
            lifecycle: KeyLifecycle(
                schedule: settings.keySchedule, bits: settings.keyBits, sealing: sealing, clock: clock, random: random,
                logger: logger),
            clock: clock, databases: loops.databases, logger: logger)
    }

    private func database<Value>(
        _ database: Database, _ body: () async throws(DatabaseError) -> Value
    ) async throws(Attempt) -> Value {
        do throws(DatabaseError) { return try await body() } catch {
            throw .unavailable(database.explanation(of: error))
        }
    }

    private func domain<Value>(
        _ body: () async throws(AuthDomain.Unavailability) -> Value
    ) async throws(Attempt) -> Value {
        do throws(AuthDomain.Unavailability) {
            return try await body()
        } catch {
            throw .unavailable(
                error == .misconfigured
                    ? loops.first.main.explanation(of: .unavailable(.misconfigured)) : error.rawValue)
        }
    }

    private func setting<Value>(_ body: () throws(SettingProblem) -> Value) throws(Attempt) -> Value {
        do throws(SettingProblem) { return try body() } catch { throw .failed(.setting(error)) }
    }
}

/// What a start has made.
struct Started: Sendable {
    let services: APIServices
    let keyring: PostgresKeyring
    let keys: KeyFollowing
    let clock: ClockFollowing
    let identities: IdentityFollowing
    /// Of the first loop.
    let database: Database
}

/// Why a server cannot start, in a sentence for whoever runs it.
enum StartFailure: Error, Equatable, CustomStringConvertible {
    case schema(String)
    case wrongDeployment(database: String, server: String)
    case noIdentitySecret
    case otherKeyEncryptionKey
    case identityStore(String)
    case setting(SettingProblem)
    case address(String)

    var description: String {
        switch self {
        case .schema(let what): what
        case .wrongDeployment(let database, let server):
            "the database is marked as \(database) and this is a \(server) server: use a database of its own for each"
        case .noIdentitySecret:
            "SALLYPORT_IDENTITY_SECRETS: must be set to the secret of your Better Auth application, or "
                + "SALLYPORT_IDENTITY_ALLOW_UNSIGNED to true to take unsigned session tokens"
        case .otherKeyEncryptionKey:
            "SALLYPORT_KEK: does not open the keys in the database: set the key that sealed them, alone or in a list "
                + "behind a new one"
        case .identityStore(let what):
            "identity store: \(what). `sallyport identity inspect` says what is there; without a Better Auth application "
                + "`sallyport migrate --standalone` makes the tables"
        case .setting(let problem): problem.description
        case .address(let what): "SALLYPORT_LISTEN: \(what)"
        }
    }
}
