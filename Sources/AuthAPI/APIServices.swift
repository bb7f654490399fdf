package import AuthDomain
package import Primitives
package import Telemetry

/// Everything that the endpoints call.
package struct APIServices: Sendable {
    package let tokens: TokenService
    package let devices: DeviceService
    package let gate: AccessGate
    package let issued: IssuedTokens
    package let revocations: RevocationFeed
    package let resourceServers: ResourceServers
    package let keys: any KeyringSource
    package let readiness: any ReadinessSource
    package let policy: AuthPolicy
    package let clock: any WallClock
    package let random: any RandomSource
    package let logger: Logger
    package let version: ServerVersion
    package let features: FeatureFlags
    package let metrics: Metrics
    /// What `/metrics` shows of this moment beside the keys.
    package let gauges: @Sendable () -> [Metrics.Gauge]
    /// One access log line for so many requests that went well.
    package let accessLogEvery: Int

    package init(
        tokens: TokenService, devices: DeviceService, gate: AccessGate, issued: IssuedTokens,
        revocations: RevocationFeed,
        resourceServers: ResourceServers = ResourceServers(), keys: any KeyringSource,
        readiness: any ReadinessSource, policy: AuthPolicy, clock: any WallClock, random: any RandomSource,
        logger: Logger, version: ServerVersion, features: FeatureFlags = FeatureFlags(),
        metrics: Metrics = Metrics(),
        gauges: @escaping @Sendable () -> [Metrics.Gauge] = { [] }, accessLogEvery: Int = 1
    ) {
        self.tokens = tokens
        self.devices = devices
        self.gate = gate
        self.issued = issued
        self.revocations = revocations
        self.resourceServers = resourceServers
        self.keys = keys
        self.readiness = readiness
        self.policy = policy
        self.clock = clock
        self.random = random
        self.logger = logger
        self.version = version
        self.features = features
        self.metrics = metrics
        self.gauges = gauges
        self.accessLogEvery = accessLogEvery
    }
}

/// What runs here, as `/version` and `GET /auth/session` say it.
package struct ServerVersion: Equatable, Sendable {
    package let name: String
    package let version: String

    package init(name: String = "sallyport", version: String) {
        self.name = name
        self.version = version
    }
}

/// What an app may count on from this server, so that it can hide what is not there.
package struct FeatureFlags: Equatable, Sendable {
    package var pushTokens: Bool
    package var signIn: Bool
    package var pairing: Bool

    package init(pushTokens: Bool = false, signIn: Bool = false, pairing: Bool = false) {
        self.pushTokens = pushTokens
        self.signIn = signIn
        self.pairing = pairing
    }
}
