import AuthAPI
import AuthDomain
import AuthStore
import Crypto
import Glibc
import HTTP
import HTTPServer
import JSON
import Primitives
import Reactor
import Telemetry

/// A server from start to drain: the main thread waits for signals, the loops do everything else.
struct ServerProcess {
    let settings: Settings
    let kind: DeploymentKind
    let environment: ProcessEnvironment
    /// Whether SIGHUP ends it too, as the end of the terminal should for a server that belongs to one.
    var endsWithTerminal = false
    /// Called on the first loop once the server is ready, before the ready line.
    var onReady: @Sendable (Started, SocketAddress) async -> Void = { _, _ in }

    /// Serves until SIGTERM or SIGINT, and returns the exit status. SIGHUP reads the certificate again.
    ///
    /// - Precondition: `Signals.block(Self.signals)` came before the first thread.
    func run() -> Int32 {
        let logs = LogWriter(descriptor: STDERR_FILENO)
        let clock = FollowedClock()
        let logger = Logger(level: settings.logLevel, clock: clock, sink: logs)
        do throws(StartFailure) {
            let parts = try prepare(logger, clock)
            parts.loops.start()
            begin(parts, clock, logger)
            waitForEnd(parts)
            logger.info("draining")
            drain(parts)
            logger.info("stopped")
            logs.flush()
            return 0
        } catch {
            logs.flush()
            environment.complain("\(error)")
            return 1
        }
    }

    static let signals = endings + [SIGHUP]
    private static let endings = [SIGTERM, SIGINT]

    private struct Parts {
        let loops: Loops
        let server: HTTPServer
        let application: SwitchedApplication
        let origins: CrossOriginPolicy
        let issuer: Issuer
        let keyring: PostgresKeyring
        let sealing: KeyEncryptionKeys
        let reloads: CertificateReloads
        let stopping = Locked(false)
        /// /readyz says so, so that balancers look elsewhere before the drain.
        let isPausing = Locked(false)
    }

    private func prepare(_ logger: Logger, _ clock: FollowedClock) throws(StartFailure) -> Parts {
        guard let issuer = settings.issuer, let url = settings.databaseURL, let listen = settings.listen else {
            throw .schema("settings are incomplete")
        }
        if kind == .test, !issuer.isLoopback || !listen.isLoopback {
            throw .address("a test target serves on loopback only, with an issuer on loopback")
        }
        let loops: Loops
        let reloads: CertificateReloads
        let sealing: KeyEncryptionKeys
        do throws(SettingProblem) {
            sealing = try settings.sealing()
            reloads = try CertificateReloads(settings, clock: SystemClock(), logger: logger)
            let workers = settings.workers ?? Loops.coreCount
            let identity = settings.separateIdentityURL
            let budget = ConnectionBudget(
                connections: settings.databaseConnections,
                roleLimit: settings.databaseConnections == nil ? RoleLimit.read(url) : nil, workers: workers,
                hasIdentityURL: identity != nil)
            if budget.loops < workers {
                logger.warning(
                    "fewer event loops than workers: SALLYPORT_DATABASE_CONNECTIONS or the role's limit allows no more",
                    [LogField("loops", budget.loops), LogField("workers", workers)])
            }
            loops = try Loops(budget, database: url, identity: identity, logger: logger)
        } catch {
            throw .setting(error)
        }
        let keyring = PostgresKeyring(
            databases: loops.databases, sealing: sealing,
            lifetimes: [
                .access: settings.accessLifetime, .refresh: settings.refreshLifetime,
                .verdict: settings.sessionMaxAge + AuthDomain.Limits.tombstoneKept,
            ], bits: settings.keyBits, clock: clock, random: SystemRandom(), logger: logger)
        let origins = CrossOriginPolicy(settings.trustedOrigins)
        let application = SwitchedApplication(
            StartingAPI(keys: keyring, origins: origins, clock: clock, random: SystemRandom()))
        let capacity = Capacity.ofProcess()
        let configuration = HTTPServerConfiguration(
            address: listen, connectionsMax: capacity.connectionsMax,
            connectionsPerAddress: settings.connectionsPerAddress.connections(of: capacity.connectionsMax),
            trustedProxies: TrustedProxies(settings.trustedProxies), certificates: reloads.certificates,
            clock: SystemClock())
        Self.announce(capacity, bytesMax: configuration.connectionBytesMax + Limits.otherBytesMax, logger)
        if settings.keySchedule.isShortForVerifiers {
            logger.warning(
                "SALLYPORT_PUBLISH_LEAD is under 65m: PowerSync may refuse the first tokens of a new key",
                [LogField("lead", SettingValue.written(settings.publishLead))])
        }
        let server = HTTPServer(
            loops: loops.all, application: application, configuration: configuration, logger: logger)
        return Parts(
            loops: loops, server: server, application: application, origins: origins, issuer: issuer,
            keyring: keyring, sealing: sealing, reloads: reloads)
    }

    private static func announce(_ capacity: Capacity, bytesMax: Int, _ logger: Logger) {
        let fields = [
            LogField("connections.max", capacity.connectionsMax), LogField("descriptors.max", capacity.descriptors),
            LogField("memory.max.bytes", bytesMax),
        ]
        logger.info("bounds", fields)
        if capacity.isShortOfDescriptors { logger.warning("few descriptors: raise the limit (ulimit -n)", fields) }
        if let limit = capacity.memoryMax, limit < bytesMax {
            logger.warning(
                "clients can take more memory than there is", fields + [LogField("memory.limit.bytes", limit)])
        }
    }

    /// Listens first, answers "starting", and turns to the product once everything is there.
    private func begin(_ parts: Parts, _ clock: FollowedClock, _ logger: Logger) {
        let limiter = RateLimiter(settings.rateLimits, now: monotonicTime)
        let measures = ProcessMetrics(loops: parts.loops, server: parts.server, clock: clock)
        let boot = Boot(
            settings: settings, issuer: parts.issuer, kind: kind, loops: parts.loops, keyring: parts.keyring,
            sealing: parts.sealing, clock: clock, throttle: limiter, logger: logger,
            measures: measures, stopping: parts.stopping, isPausing: parts.isPausing)
        let admission = Admission(
            proxies: TrustedProxies(settings.trustedProxies), origins: parts.origins, limiter: limiter)
        let (environment, kind, onReady) = (environment, kind, onReady)
        let (server, application) = (parts.server, parts.application)
        let isSecure = parts.reloads.certificates != nil
        parts.loops.all[0].spawn {
            do throws(StartFailure) {
                let address = try await Self.listen(server)
                let started = try await boot.run()
                let api = AuthAPI(services: started.services, admission: admission, monotonic: monotonicTime)
                if kind == .test {
                    application.become(
                        TestTarget(api: api, clock: clock, databases: boot.loops.databases, keys: started.keys))
                } else {
                    application.become(api)
                }
                NewsFollowing(keys: started.keys, clock: started.clock)
                    .begin(on: boot.loops.all[0], listeningOn: started.database)
                started.clock.begin(on: boot.loops.all[0])
                started.keys.begin(on: boot.loops.all[0])
                measures.begin()
                started.identities.begin(on: boot.loops.all[0])
                await onReady(started, address)
                environment.say(Self.readyLine(address, isSecure: isSecure))
            } catch {
                environment.complain("\(error)")
                environment.end(1)
            }
        }
    }

    private static func listen(_ server: HTTPServer) async throws(StartFailure) -> SocketAddress {
        do throws(ReactorError) {
            return try await server.start()
        } catch {
            switch error {
            case .addressInUse(let address): throw .address("\(address) is taken by another process")
            case .addressNotAvailable(let address): throw .address("\(address) cannot be bound on this machine")
            case .failed(let call, let errno): throw .address("\(call) failed with errno \(errno)")
            }
        }
    }

    private static func readyLine(_ address: SocketAddress, isSecure: Bool) -> String {
        let line: JSONObject = [
            "event": "ready", "address": .string((isSecure ? "https://" : "") + address.description),
            "version": .string(Version.text),
        ]
        return String(decoding: line.encoded(), as: UTF8.self)
    }

    private func waitForEnd(_ parts: Parts) {
        while Signals.next(of: Self.signals) == SIGHUP, !endsWithTerminal { parts.reloads.reload() }
    }

    private func drain(_ parts: Parts) {
        let (server, loops, environment) = (parts.server, parts.loops, environment)
        // A second signal does not wait.
        Signals.onNext(of: Self.endings) { _ in environment.end(130) }
        let (pause, isPausing, stopping) = (settings.drainPause, parts.isPausing, parts.stopping)
        loops.all[0].runBlocking {
            if pause > .zero {
                isPausing.withLock { $0 = true }
                await server.closeAfterAnswers()
                await loops.all[0].sleep(for: pause)
            }
            // Readers of the revocation feed go on waiting until here.
            stopping.withLock { $0 = true }
            await server.drain(within: Limits.drain)
            await loops.closeDatabases()
        }
        loops.stop()
    }
}
