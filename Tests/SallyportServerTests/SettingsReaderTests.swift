import AuthAPI
import AuthDomain
import AuthStore
import Postgres
import Primitives
import Reactor
import Telemetry
import Testing

@testable import SallyportServer

@Suite("Settings")
struct SettingsReaderTests {
    static let required = [
        "SALLYPORT_DATABASE_URL": "postgresql://sallyport@db/app", "SALLYPORT_ISSUER": "https://auth.example.com",
        "SALLYPORT_KEK": Base64.encode([UInt8](repeating: 1, count: 32)),
    ]

    /// Every setting with values that are taken and values that are not; limits stand on both sides.
    private static let table: [String: (taken: [String], refused: [String])] = {
        let key = Base64.encode([UInt8](repeating: 2, count: 32))
        let (name, url) = (String(repeating: "n", count: 63), "postgres://a:b@one,two:5433/db?target_session_attrs=any")
        let identifiers = (taken: ["x", name, "User Sessions", "naïve"], refused: [name + "n", "a\0b"])
        let durations = { (least: [String], most: [String], beyond: [String]) in
            (taken: least + most, refused: beyond + ["", " ", "1", "m", "-1m", "1.5h", "1 m", "1w", "1M", "1000001s"])
        }
        return [
            "SALLYPORT_DATABASE_URL": ([url, "postgresql:///db"], ["mysql://db", "host=db", "postgresql:db"]),
            "SALLYPORT_IDENTITY_DATABASE_URL": ([url], ["sqlite://x", "db"]),
            "SALLYPORT_ISSUER": (["https://a", "http://127.0.0.1:8080"], ["a.example", "https://a/", "http://a"]),
            "SALLYPORT_KEK": (
                [key, "\(key),\(Self.required["SALLYPORT_KEK"] ?? "")", " \(key) , \(key)"],
                [
                    Base64.encode([UInt8](repeating: 2, count: 31)), Base64.encode([UInt8](repeating: 2, count: 33)),
                    "\(key),", ",", "no base64", String(key.dropLast()),
                ]
            ),
            "SALLYPORT_LISTEN": (
                ["127.0.0.1:0", "0.0.0.0:8080", "[::1]:65535", "[::]:1"],
                ["8080", "localhost:8080", "127.0.0.1", "127.0.0.1:65536", "::1:80", "256.0.0.1:1"]
            ),
            "SALLYPORT_TLS_CERT_FILE": (["/etc/tls/certificate.pem"], ["a\0b"]),
            "SALLYPORT_TLS_KEY_FILE": (["key.pem"], ["a\0b"]),
            "SALLYPORT_TRUSTED_PROXIES": (
                ["10.0.0.0/8", "127.0.0.1, ::1,fd00::/8", "0.0.0.0/0", "192.168.1.10/16"],
                [
                    "10.0.0.0/33", "proxy.internal", "*", "10.0.0.1:80", "10.0.0.0/8,", "10.0.0.0/8 192.168.0.0/16",
                    "[::1]",
                ]
            ),
            "SALLYPORT_TRUSTED_ORIGINS": (
                [
                    "https://app.example.com", "http://localhost:5173, https://127.0.0.1:8443", "http://[::1]:3000",
                    "myapp://", "capacitor://localhost", "https://a.example,https://b.example",
                    "https://xn--grn-hoa.example",
                ],
                [
                    "*", "null", "app.example.org", "https://", "https://app.example.com/",
                    "https://app.example.com/path",
                    "https://App.example.com", "HTTPS://app.example.com", "https://app.example.com:443", "http://a:80",
                    "https://app.example.com:", "https://app.example.com:0", "https://app.example.com:08443",
                    "https://app.example.com:65536", "https://*.example.com", "https://user@app.example.com",
                    "https://app.example.com?x", "https://grün.example", "https://a.example,", "myapp:", "1app://",
                    "https://[::1", "https://[::G]", "https://a b",
                ]
            ),
            "SALLYPORT_CONNECTIONS_PER_ADDRESS": (
                ["1", "1000000", "off"], ["0", "-1", "1000001", "", "quarter", "1.5"]
            ),
            "SALLYPORT_RATE_LIMIT": (
                ["off", "address=1", "session=1000000", "address=6000,session=600", "session=off , address=5"],
                [
                    "on", "6000", "address", "address=", "address=0", "address=-1", "address=1000001", "address=1.5",
                    "address=5,address=6", "user=5", "off,address=5", "address=off=5", "address=5;session=6",
                ]
            ),
            "SALLYPORT_WORKERS": (["1", "64"], ["0", "65", "-1", "two", "1.5", "one a core"]),
            "SALLYPORT_DATABASE_CONNECTIONS": (
                ["3", "13", "10000"], ["0", "2", "10001", "-1", "six", "6 a loop and 1"]
            ),
            "SALLYPORT_DRAIN_PAUSE": durations(["0s", "5s"], ["60s", "1m"], ["61s", "2m"]),
            "SALLYPORT_ACCESS_LOG_EVERY": (["1", "1000000"], ["0", "1000001", "-1", "all", "1.5"]),
            "SALLYPORT_LOG_LEVEL": (["debug", "info", "warning", "error"], ["Debug", "trace", "none"]),
            "SALLYPORT_RESOURCE_SERVERS": (
                ["api:" + String(repeating: "ab", count: 32)],
                [
                    "api", "api:ab", ":" + String(repeating: "ab", count: 32),
                    "api:" + String(repeating: "zz", count: 32),
                    "api:" + String(repeating: "ab", count: 32) + ",", "api:\(String(repeating: "ab", count: 33))",
                ]
            ),
            "SALLYPORT_AUDIENCES": (
                ["powersync", "a, b"], [",", "a,,b", "a,", "https://a.example https://b.example", "a\tb"]
            ),
            "SALLYPORT_SCOPES": (
                ["api", "api sync admin:read"], ["a\"b", "a\\b", "grün", "\t", "api,sync", "api, sync", "api sync,"]
            ),
            "SALLYPORT_VERIFIED_GATE": (["claim", "scopes", "deny"], ["none", "Claim", "scopes "]),
            "SALLYPORT_GATED_SCOPES": (["sync", "api", "api sync"], ["a\"b", "snyc", "api,sync", "Sync", "api snyc"]),
            "SALLYPORT_GATED_AUDIENCES": (
                ["powersync"], ["powersync,", "powersnyc", "powersync,other", "Powersync", "powersync other"]
            ),
            "SALLYPORT_ACCESS_TYP": (["at+jwt", "JWT"], ["jwt", "AT+JWT", "application/at+jwt", "rt+jwt", "none"]),
            "SALLYPORT_ACCESS_TTL": durations(["60s", "1m"], ["60m", "1h", "3600s"], ["59s", "61m", "3601s", "0s"]),
            "SALLYPORT_REFRESH_TTL": durations(["7d", "168h"], ["30d"], ["6d", "167h", "31d"]),
            "SALLYPORT_SESSION_MAX_AGE": durations(["7d"], ["730d"], ["6d", "731d"]),
            "SALLYPORT_REPLAY_WINDOW": durations(["0s"], ["30d"], ["31d"]),
            "SALLYPORT_CONCURRENCY_WINDOW": durations(["0s"], ["10m"], ["601s"]),
            "SALLYPORT_OFFLINE_WRITE": durations(["0s"], ["30d"], ["31d"]),
            "SALLYPORT_DEVICES_MAX": (["1", "10000"], ["0", "10001", "many", "-1", "1.5"]),
            "SALLYPORT_VERDICT_POLICY": (["careful", "strict"], ["lenient", "Strict"]),
            "SALLYPORT_PUBLISH_LEAD": durations(["10m", "600s"], ["12h"], ["9m", "599s", "721m", "5m"]),
            "SALLYPORT_KEY_ROTATION": durations(["1d", "24h"], ["730d"], ["23h", "731d"]),
            "SALLYPORT_KEY_BITS": (["2048", "3072", "4096"], ["1024", "2047", "8192", "2k"]),
            "SALLYPORT_IDENTITY_SECRETS": (
                [String(repeating: "s", count: 32), String(repeating: "s", count: 32) + "," + name],
                [String(repeating: "s", count: 31), String(repeating: "s", count: 32) + ",short", ","]
            ),
            "SALLYPORT_IDENTITY_ALLOW_UNSIGNED": (["true", "false"], ["yes", "1", "TRUE"]),
            "SALLYPORT_IDENTITY_TOKEN_LOOKUP": (["plain", "sha256-hex", "sha256-base64url"], ["sha256", "md5"]),
            "SALLYPORT_IDENTITY_PRESET": (["kysely", "drizzle", "prisma"], ["mongo", "Kysely"]),
            "SALLYPORT_IDENTITY_SCHEMA": identifiers, "SALLYPORT_IDENTITY_SESSION_TABLE": identifiers,
            "SALLYPORT_IDENTITY_USER_TABLE": identifiers,
            "SALLYPORT_IDENTITY_NAIVE_TIMEZONE": (
                ["UTC", "Europe/Berlin", "America/Port-au-Prince", "EST5EDT", "+09", "-0330", "UTC+2", "GMT-03:30"],
                [name + "n", "JST-9", "+25", "+9:5", "UTC+", "UTC+02:60", "<+09>-09", "Europe/Berlin,M3", "+9:00:00"]
            ),
            "SALLYPORT_IDENTITY_POLL": durations(["1s", "30s"], ["10m"], ["0s", "601s"]),
            "SALLYPORT_IDENTITY_FOLLOW": (["revocation", "session"], ["expiry", "Session"]),
            "SALLYPORT_IDENTITY_VANISHED_PERCENT": (["1", "20", "100"], ["0", "101", "20%", "-1", "1.5", "many"]),
            "SALLYPORT_IDENTITY_COLUMNS": (
                ["session.userId=user_id", "session.userId=user_id, user.emailVerified=verified"],
                ["no-equals-sign-here", "=user_id", "session.userId=", "session.userAgent=x", "a=b,"]
            ),
        ]
    }()

    /// What a setting cannot be given without.
    private static func pair(for name: String) -> [String: String] {
        guard name.hasPrefix("SALLYPORT_TLS_") else { return [:] }
        return ["SALLYPORT_TLS_CERT_FILE": "certificate.pem", "SALLYPORT_TLS_KEY_FILE": "key.pem"]
    }

    @Test("a certificate without its key is a problem of the key, and the other way round")
    func halfPair() {
        #expect(problems(["SALLYPORT_TLS_CERT_FILE": "a"]).map(\.name) == ["SALLYPORT_TLS_KEY_FILE"])
        #expect(problems(["SALLYPORT_TLS_KEY_FILE": "a"]).map(\.name) == ["SALLYPORT_TLS_CERT_FILE"])
    }

    @Test("the table of this test has every setting")
    func complete() {
        #expect(Set(Self.table.keys) == Set(SettingTable.rows.map(\.name)))
        #expect(Set(SettingTable.rows.map(\.name)).count == SettingTable.rows.count)
    }

    @Test("what a setting takes", arguments: SettingTable.rows.map(\.name))
    func taken(name: String) throws {
        for value in try #require(Self.table[name]).taken {
            #expect(problems(Self.pair(for: name).merging([name: value]) { $1 }) == [], "\(value)")
        }
    }

    @Test("what a setting refuses is told by its name, without the value", arguments: SettingTable.rows.map(\.name))
    func refused(name: String) throws {
        for value in try #require(Self.table[name]).refused where !value.isEmpty {
            let found = problems(Self.pair(for: name).merging([name: value]) { $1 })
            #expect(found.map(\.name) == [name], "\(value)")
            if value.utf8.count > 12 { #expect(found.allSatisfy { !$0.message.contains(value) }, "\(value)") }
        }
    }

    @Test("the defaults are those of the contract")
    func defaults() throws {
        let settings = try read([:])
        #expect(settings.listen?.description == "127.0.0.1:8080")
        #expect(settings.workers == nil && settings.logLevel == .info && settings.resourceServers.isEmpty)
        #expect(settings.trustedProxies.isEmpty && settings.trustedOrigins.isEmpty)
        #expect(
            settings.rateLimits
                == RateLimits(address: RateLimit(perMinute: 6_000), session: RateLimit(perMinute: 600)))
        #expect(settings.accessLifetime == .minutes(30) && settings.refreshLifetime == .days(30))
        #expect(settings.sessionMaxAge == .days(90) && settings.replayWindow == nil)
        #expect(settings.concurrencyWindow == .seconds(10) && settings.offlineWrite == .days(7))
        #expect(settings.verdictPolicy == .careful && settings.tokenLookup == .plain)
        #expect(settings.identityPreset == .kysely && settings.identityTimeZone == "UTC")
        #expect(settings.identitySecrets.isEmpty && !settings.allowsUnsignedSessions)
        let policy = settings.policy(issuer: try #require(settings.issuer))
        #expect(policy.issuer == "https://auth.example.com")
        #expect(policy.audiences == ["https://auth.example.com", "powersync"])
        #expect(policy.scopes.names == ["api", "sync"])
        #expect(policy.gate.mode == .scopes && policy.gate.scopes.names == ["sync"])
        #expect(policy.gate.audiences == ["powersync"])
        #expect(policy.devicesMax == 100 && policy.vanishedPercentMax == 20)
        #expect(policy.accessTokenType == .atJWT)
        #expect(settings.publishLead == .hours(2) && !settings.keySchedule.isShortForVerifiers)
    }

    @Test("a lost answer may be repeated as long as a refresh token lives, where no window is set")
    func replayWindow() throws {
        for (given, expected) in [
            ([:], Duration.days(30)), (["SALLYPORT_REFRESH_TTL": "9d"], .days(9)),
            (["SALLYPORT_REFRESH_TTL": "9d", "SALLYPORT_REPLAY_WINDOW": "2d"], .days(2)),
        ] as [([String: String], Duration)] {
            let settings = try read(given)
            #expect(settings.policy(issuer: try #require(settings.issuer)).windows.replay == expected)
        }
    }

    @Test("values arrive as they were meant")
    func values() throws {
        let second = [UInt8](repeating: 3, count: 32)
        let settings = try read([
            "SALLYPORT_KEK": "\(Self.required["SALLYPORT_KEK"] ?? ""), \(Base64.encode(second))",
            "SALLYPORT_ACCESS_TTL": "90s", "SALLYPORT_AUDIENCES": "a, b", "SALLYPORT_WORKERS": "3",
            "SALLYPORT_RESOURCE_SERVERS": "api:" + String(repeating: "ab", count: 32),
            "SALLYPORT_IDENTITY_COLUMNS": "session.userId=user_id,session.token=a=b",
        ])
        #expect(settings.keyEncryptionKeys.map(\.exposed) == [[UInt8](repeating: 1, count: 32), second])
        #expect(settings.accessLifetime == .seconds(90) && settings.audiences == ["a", "b"])
        #expect(settings.workers == 3)
        #expect(
            settings.resourceServers == [
                Settings.ResourceServer(id: "api", secretHash: [UInt8](repeating: 0xab, count: 32))
            ])
        #expect(settings.identityColumns == ["session.userId": "user_id", "session.token": "a=b"])
    }

    @Test("a rate that is not named keeps its default, and off is without a limit")
    func rates() throws {
        for (text, address, session) in [
            ("off", nil, nil), ("address=5", 5, 600), ("session=off", 6_000, nil), ("address=off,session=7", nil, 7),
        ] as [(String, Int?, Int?)] {
            let limits = try read(["SALLYPORT_RATE_LIMIT": text]).rateLimits
            #expect(limits.address?.perMinute == address && limits.session?.perMinute == session, "\(text)")
        }
    }

    @Test("every problem is there at once, in the order of the names")
    func allAtOnce() {
        let found = problems([
            "SALLYPORT_ISSUER": "x", "SALLYPORT_KEK": "", "SALLYPORT_ACCESS_TTL": "2h", "SALLYPORT_TYPO": "1",
            "SALLYPORT_LISTEN_FILE": "/etc/listen",
        ])
        #expect(
            found.map(\.name) == [
                "SALLYPORT_ACCESS_TTL", "SALLYPORT_ISSUER", "SALLYPORT_KEK", "SALLYPORT_LISTEN_FILE", "SALLYPORT_TYPO",
            ])
        #expect(found.first?.message == "must be a duration between 1m and 1h, such as 90s, 30m, 12h or 30d")
    }

    @Test("serving needs what is required, looking does not; variables of others are left alone")
    func purposes() throws {
        let reader = SettingsReader(environment: ["PATH": "/bin", "NOT_SALLYPORT_X": "1"], file: nil) { _ in nil }
        let error = #expect(throws: SettingProblems.self) { try reader.read(for: .serving) }
        #expect(error?.all.map(\.name) == ["SALLYPORT_DATABASE_URL", "SALLYPORT_ISSUER", "SALLYPORT_KEK"])
        _ = try reader.read(for: .inspecting)
    }

    @Test("a variable beats the file's line, and an empty one does not count")
    func fileAndEnvironment() throws {
        let file = """
            # a comment
              # another

            SALLYPORT_ACCESS_TTL=5m
            SALLYPORT_AUDIENCES=a=b,c
            SALLYPORT_LOG_LEVEL=debug
            """
        let environment = Self.required.merging(["SALLYPORT_LOG_LEVEL": "error", "SALLYPORT_WORKERS": ""]) { $1 }
        let settings = try SettingsReader(environment: environment, file: file) { _ in nil }.read(for: .serving)
        #expect(settings.accessLifetime == .minutes(5) && settings.audiences == ["a=b", "c"])
        #expect(settings.logLevel == .error && settings.workers == nil)
    }

    @Test(
        "a line of the file that is no setting is a problem",
        arguments: ["ACCESS_TTL=5m", "SALLYPORT_X", "export SALLYPORT_WORKERS=1"])
    func badLine(line: String) {
        let reader = SettingsReader(environment: Self.required, file: line) { _ in nil }
        let error = #expect(throws: SettingProblems.self) { try reader.read(for: .serving) }
        #expect(error?.all.map(\.name) == ["--config"])
    }

    @Test("secrets come from files too, without the line feeds at their ends; other settings do not")
    func files() throws {
        let files = ["/kek": (Self.required["SALLYPORT_KEK"] ?? "") + "\n\r\n", "/url": "postgresql://db/a\n"]
        var environment = Self.required
        environment["SALLYPORT_KEK"] = nil
        environment["SALLYPORT_DATABASE_URL"] = nil
        environment["SALLYPORT_KEK_FILE"] = "/kek"
        environment["SALLYPORT_DATABASE_URL_FILE"] = "/url"
        let settings = try SettingsReader(environment: environment, file: nil) { files[$0] }.read(for: .serving)
        #expect(settings.keyEncryptionKeys.map(\.exposed) == [[UInt8](repeating: 1, count: 32)])
        #expect(settings.databaseURL?.text.exposed == "postgresql://db/a")

        for (name, value, problem) in [
            ("SALLYPORT_KEK_FILE", "/absent", "the file cannot be read"),
            ("SALLYPORT_ISSUER_FILE", "/kek", "there is no such setting"),
        ] {
            let reader = SettingsReader(
                environment: Self.required.filter { $0.key != "SALLYPORT_KEK" }.merging([name: value]) { $1 }, file: nil
            ) { files[$0] }
            let error = #expect(throws: SettingProblems.self) { try reader.read(for: .serving) }
            #expect(error?.all.first { $0.name == name }?.message == problem)
        }
        let twice = problems(["SALLYPORT_KEK_FILE": "/kek"])
        #expect(twice.map(\.name) == ["SALLYPORT_KEK_FILE"])
        #expect(twice.first?.message.contains("use one of the two") ?? false)
    }

    private func read(_ changes: [String: String]) throws -> Settings {
        try SettingsReader(environment: Self.required.merging(changes) { $1 }, file: nil) { _ in nil }.read(
            for: .serving)
    }

    private func problems(_ changes: [String: String]) -> [SettingProblem] {
        do {
            _ = try read(changes)
            return []
        } catch let error as SettingProblems {
            return error.all
        } catch {
            Issue.record("\(error)")
            return []
        }
    }
}
