import AuthDomain
import Primitives
import Telemetry

/// All settings, once. The order is the one of `config`, `.env.example` and the README.
enum SettingTable {
    static let rows: [Setting] = serving + tokens + keys + identity

    private static let serving: [Setting] = [
        Setting(
            "SALLYPORT_DATABASE_URL", isSecret: true, isRequired: true, "libpq URI; several hosts for failover",
            \.databaseURL, SettingValue.databaseURL),
        Setting(
            "SALLYPORT_ISSUER", isRequired: true, "public origin, https://…; http only on loopback", \.issuer,
            SettingValue.issuer),
        Setting(
            "SALLYPORT_KEK", isSecret: true, isRequired: true,
            "base64 of 32 bytes; a list: the first encrypts, all decrypt", \.keyEncryptionKeys, SettingValue.keys),
        Setting(
            "SALLYPORT_LISTEN", "127.0.0.1:8080", "address to serve on; port 0 picks a free one", \.listen,
            SettingValue.address),
        Setting(
            "SALLYPORT_TLS_CERT_FILE", nil,
            "serve HTTPS: PEM file of the certificate and its chain; read again on SIGHUP",
            \.certificateFile, SettingValue.path),
        Setting(
            "SALLYPORT_TLS_KEY_FILE", nil, "PEM file of the certificate's key, without a pass phrase",
            \.certificateKeyFile, SettingValue.path),
        Setting(
            "SALLYPORT_TRUSTED_PROXIES", nil,
            "addresses and CIDR blocks, a list: only these are believed in Forwarded and X-Forwarded-For",
            \.trustedProxies, SettingValue.proxies),
        Setting(
            "SALLYPORT_TRUSTED_ORIGINS", nil,
            "web origins that may call /auth/* (CORS), a list: https://app.example.com, myapp://",
            \.trustedOrigins, SettingValue.origins),
        Setting(
            "SALLYPORT_RATE_LIMIT", "address=6000,session=600",
            "requests a minute at /auth/* of one client address and of one device session; off for no limit",
            \.rateLimits, RateLimitValue.read),
        Setting(
            "SALLYPORT_CONNECTIONS_PER_ADDRESS", "a quarter of all",
            "connections of one client address, IPv6 by /64; trusted proxies have no limit; off for no limit",
            \.connectionsPerAddress, AddressShare.read),
        Setting(
            "SALLYPORT_WORKERS", "one a core", "event loops", \.workers,
            { (text: String) throws(SettingFault) in try SettingValue.number(1...64)(text) }),
        Setting(
            "SALLYPORT_DATABASE_CONNECTIONS", "6 a loop and 1",
            "connections of the process to its database, 3 or more; under 2 a loop and 1 fewer loops start",
            \.databaseConnections, SettingValue.databaseConnections),
        Setting(
            "SALLYPORT_LOG_LEVEL", "info", "debug, info, warning or error; none shows secrets", \.logLevel,
            SettingValue.logLevel),
        Setting(
            "SALLYPORT_ACCESS_LOG_EVERY", "1", "one log line for so many requests that went well; refusals have theirs",
            \.accessLogEvery, SettingValue.number(1...1_000_000)),
        Setting(
            "SALLYPORT_DRAIN_PAUSE", "0s",
            "time between SIGTERM and the drain, 0s to 60s: /readyz is 503 and answers close, new connections are served",
            \.drainPause, SettingValue.duration(.zero ... .seconds(60))),
        Setting(
            "SALLYPORT_RESOURCE_SERVERS", isSecret: true,
            "who may introspect and read revocations: id:sha256-hex-of-secret, a list", \.resourceServers,
            SettingValue.resourceServers),
    ]

    private static let tokens: [Setting] = [
        Setting(
            "SALLYPORT_AUDIENCES", "the issuer and powersync", "`aud` of access tokens, a list", \.audiences,
            SettingValue.audiences),
        Setting(
            "SALLYPORT_SCOPES", "api sync", "scopes granted by default, separated by blanks", \.scopes,
            SettingValue.scopes),
        Setting(
            "SALLYPORT_VERIFIED_GATE", "scopes", "claim, scopes or deny: what an unverified user gets", \.gateMode,
            SettingValue.word),
        Setting(
            "SALLYPORT_GATED_SCOPES", "sync, if it is a scope", "scopes withheld until verified, separated by blanks",
            \.gatedScopes, SettingValue.gatedScopes),
        Setting(
            "SALLYPORT_GATED_AUDIENCES", "all but the issuer",
            "audiences withheld with them, a list; a token without a gated scope carries none", \.gatedAudiences,
            SettingValue.audiences),
        Setting(
            "SALLYPORT_ACCESS_TYP", "at+jwt",
            "at+jwt or JWT: `typ` of access tokens; JWT for verifiers that refuse at+jwt", \.accessTokenType,
            SettingValue.word),
        Setting(
            "SALLYPORT_ACCESS_TTL", "30m", "lifetime of access tokens, 60s to 60m", \.accessLifetime,
            SettingValue.duration(.seconds(60)...(.minutes(60)))),
        Setting(
            "SALLYPORT_REFRESH_TTL", "30d", "idle lifetime of refresh tokens, 7d to 30d", \.refreshLifetime,
            SettingValue.duration(.days(7)...(.days(30)))),
        Setting(
            "SALLYPORT_SESSION_MAX_AGE", "90d", "absolute end of a device session, 7d to 730d", \.sessionMaxAge,
            SettingValue.duration(.days(7)...(.days(730)))),
        Setting(
            "SALLYPORT_REPLAY_WINDOW", "the lifetime of refresh tokens",
            "a lost answer may be repeated without a key for so long",
            \.replayWindow,
            { (text: String) throws(SettingFault) in try SettingValue.duration(.zero...(.days(30)))(text) }),
        Setting(
            "SALLYPORT_CONCURRENCY_WINDOW", "10s", "racing refreshes are answered alike for so long",
            \.concurrencyWindow,
            SettingValue.duration(.zero...(.minutes(10)))),
        Setting(
            "SALLYPORT_OFFLINE_WRITE", "7d", "how long an app may write without us", \.offlineWrite,
            SettingValue.duration(.zero...(.days(30)))),
        Setting(
            "SALLYPORT_DEVICES_MAX", "100", "devices of one user, 1 to 10000; the longest unused one gives way",
            \.devicesMax, SettingValue.number(1...10_000)),
        Setting(
            "SALLYPORT_VERDICT_POLICY", "careful", "careful or strict: whether ends by will wipe", \.verdictPolicy,
            SettingValue.word),
    ]

    private static let keys: [Setting] = [
        Setting(
            "SALLYPORT_PUBLISH_LEAD", "2h",
            "a key is published for so long before it signs, 10m to 12h; under 65m PowerSync may refuse its first tokens",
            \.publishLead, SettingValue.duration(.minutes(10)...(.hours(12)))),
        Setting(
            "SALLYPORT_KEY_ROTATION", "90d", "how long a key signs, 1d to 730d", \.keyRotation,
            SettingValue.duration(.days(1)...(.days(730)))),
        Setting(
            "SALLYPORT_KEY_BITS", "2048", "2048, 3072 or 4096: RSA size of keys made from now on", \.keyBits,
            SettingValue.keyBits),
    ]

    private static let identity: [Setting] = [
        Setting(
            "SALLYPORT_IDENTITY_DATABASE_URL", "the database", isSecret: true,
            "libpq URI of the Better Auth database: its primary, with a role that may only read", \.identityDatabaseURL,
            SettingValue.databaseURL),
        Setting(
            "SALLYPORT_IDENTITY_SECRETS", isSecret: true, "Better Auth secrets, in order, a list", \.identitySecrets,
            SettingValue.identitySecrets),
        Setting(
            "SALLYPORT_IDENTITY_ALLOW_UNSIGNED", "false", "take raw session tokens where no secret is set",
            \.allowsUnsignedSessions, SettingValue.truth),
        Setting(
            "SALLYPORT_IDENTITY_TOKEN_LOOKUP", "plain", "plain, sha256-hex or sha256-base64url", \.tokenLookup,
            SettingValue.word),
        Setting(
            "SALLYPORT_IDENTITY_PRESET", "kysely", "kysely, drizzle or prisma", \.identityPreset, SettingValue.word),
        Setting(
            "SALLYPORT_IDENTITY_SCHEMA", "public", "schema of the identity tables", \.identitySchema,
            SettingValue.identifier),
        Setting(
            "SALLYPORT_IDENTITY_SESSION_TABLE", "session", "name of the session table", \.identitySessionTable,
            SettingValue.identifier),
        Setting(
            "SALLYPORT_IDENTITY_USER_TABLE", "user", "name of the user table", \.identityUserTable,
            SettingValue.identifier),
        Setting(
            "SALLYPORT_IDENTITY_COLUMNS", "the preset's", "session.userId=user_id,…", \.identityColumns,
            SettingValue.columns),
        Setting(
            "SALLYPORT_IDENTITY_NAIVE_TIMEZONE", "UTC",
            "time zone of the times that are stored without one: Europe/Berlin, UTC+02:00", \.identityTimeZone,
            SettingValue.timeZone),
        Setting(
            "SALLYPORT_IDENTITY_POLL", "30s", "how soon the end of a session there is known here, 1s to 10m",
            \.identityPoll, SettingValue.duration(.seconds(1)...(.minutes(10)))),
        Setting(
            "SALLYPORT_IDENTITY_FOLLOW", "revocation",
            "revocation or session: whether device sessions end with an expired session too", \.identityFollow,
            SettingValue.word),
        Setting(
            "SALLYPORT_IDENTITY_VANISHED_PERCENT", "20",
            "a larger share of sessions or users that vanishes at once is not believed", \.vanishedPercentMax,
            SettingValue.number(1...100)),
    ]

    /// Defaults in words, which stand for something that is known later.
    static let describedDefaults: Set<String> = [
        "SALLYPORT_WORKERS", "SALLYPORT_CONNECTIONS_PER_ADDRESS", "SALLYPORT_DATABASE_CONNECTIONS",
        "SALLYPORT_AUDIENCES",
        "SALLYPORT_GATED_SCOPES", "SALLYPORT_GATED_AUDIENCES", "SALLYPORT_REPLAY_WINDOW",
        "SALLYPORT_IDENTITY_DATABASE_URL", "SALLYPORT_IDENTITY_COLUMNS",
    ]
}
