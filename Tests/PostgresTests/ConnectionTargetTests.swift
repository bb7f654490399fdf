import Primitives
import Testing

@testable import Postgres

@Suite("Database URLs")
struct ConnectionTargetTests {
    private func host(_ name: String, _ port: String = "5432", address: String? = nil) -> ConnectionTarget.Host {
        ConnectionTarget.Host(name: name, address: address, port: port)
    }

    private func keywords(
        _ url: String, isReadOnly: Bool = false, at address: String? = nil
    ) throws -> [String: String] {
        var configuration = DatabaseConfiguration(applicationName: "app-1")
        configuration.isReadOnly = isReadOnly
        let target = try ConnectionTarget(Secret(url))
        let pairs = target.keywords(for: target.hosts[0], at: address, configuration)
        return Dictionary(uniqueKeysWithValues: pairs.map { ($0.name, $0.value) })
    }

    @Test("hosts, ports and addresses are taken apart")
    func hosts() throws {
        #expect(try ConnectionTarget(Secret("postgres://u:p@db.example/x")).hosts == [host("db.example")])
        #expect(
            try ConnectionTarget(Secret("postgresql://u@a:1,b:2,[::1]:3/x")).hosts
                == [host("a", "1"), host("b", "2"), host("::1", "3")])
        #expect(try ConnectionTarget(Secret("postgres://u@a,b:6000/x")).hosts == [host("a"), host("b", "6000")])
        #expect(try ConnectionTarget(Secret("host=a,b port=7 dbname=x")).hosts == [host("a", "7"), host("b", "7")])
        #expect(
            try ConnectionTarget(Secret("host=a hostaddr=10.0.0.1 dbname=x")).hosts == [host("a", address: "10.0.0.1")])
        #expect(try ConnectionTarget(Secret("postgres:///x")).hosts == [host("/var/run/postgresql")])
        #expect(try ConnectionTarget(Secret("postgres:///x?host=/run/pg")).hosts[0].isSocketFolder)
    }

    @Test(
        "what cannot be read, or would be looked up in files, is misconfigured",
        arguments: [
            "postgres://u@a:1,b:2,c:3/x?hostaddr=1.1.1.1", "http://a/b", "postgres://[::1/x", "host=a bogus=1",
            "postgres://a/x?bogus=1", "service=prod", "host=a,b,c port=1,2", "nonsense",
            "host=" + Array(repeating: "h", count: 17).joined(separator: ","), "postgres://a:port/x",
            "postgres://a:0/x",
            "postgres://a:65536/x", "postgres://a/x?sslmode=no-verify", "postgres://a/x?target_session_attrs=best",
            "postgres://a/x?options=-v", "postgres://a/x?options=-c", "postgres://a/x?options=-c%20no_value",
        ])
    func refused(url: String) {
        #expect(DatabaseURL(Secret(url)).fault?.reason == .misconfigured)
    }

    @Test(
        "what is wrong with a URL is said with advice, and no piece of its password",
        arguments: [
            ("schema=public", "schema", "SALLYPORT_IDENTITY_SCHEMA"), ("pgbouncer=true", "pgbouncer", "direct address"),
            ("connection_limit=5", "connection_limit", "SALLYPORT_DATABASE_CONNECTIONS"),
            ("sslmode=no-verify", "no-verify", "require encrypts without a check"), ("ssl=1", "\"ssl\"", "sslmode"),
            ("aplication_name=x", "aplication_name", "only parameters of libpq"),
            ("sslmode", "sslmode", "verify-full"),
        ])
    func causes(query: String, name: String, advice: String) throws {
        let fault = try #require(DatabaseURL(Secret("postgres://user:pass-word@db.example/x?\(query)")).fault)
        #expect(fault.reason == .misconfigured)
        for part in [name, advice] { #expect(fault.description.contains(part), "\(fault)") }
        #expect(!fault.description.contains("pass-word"))
    }

    @Test(
        "a password that is not escaped is not repeated, wherever libpq takes it for",
        arguments: [
            "postgres://user:one/two@db/x", "postgres://user:one/two?three@db/x", "postgres://user:one@two:three@db/x",
            "postgres://user:one%zztwo@db/x", "postgres://user:one/two?three=four@db/x", "postgres://[one:two@db/x",
            "postgres://user@db/x?password=one%zztwo", "postgres://user@db/x?password=one=two",
            "postgres://user:one#two/three?four&five@db/x", "host=db password='one two", "host=db password=one two",
            "postgres://u:%00one@db/x",
        ])
    func secretsInFaults(url: String) throws {
        guard let fault = DatabaseURL(Secret(url)).fault else { return }
        for piece in ["one", "two", "three", "four", "five"] {
            // The advice has words of its own, and none of these.
            #expect(!fault.description.contains(piece), "\(fault)")
        }
    }

    @Test("the configuration completes what the URL leaves open")
    func completed() throws {
        let all = try keywords("postgres://u:p%40s@a/x", at: "10.0.0.1")
        #expect(all["user"] == "u" && all["password"] == "p@s" && all["dbname"] == "x")
        #expect(all["host"] == "a" && all["hostaddr"] == "10.0.0.1" && all["port"] == "5432")
        #expect(all["application_name"] == "app-1" && all["target_session_attrs"] == "read-write")
        #expect(all["keepalives_idle"] == "5" && all["keepalives_interval"] == "2" && all["keepalives_count"] == "3")
        #expect(all["tcp_user_timeout"] == "10000" && all["gssencmode"] == "disable")
        #expect(all["options"] == nil)
    }

    @Test("the URL's own words win")
    func ownWords() throws {
        let all = try keywords(
            "postgres://u@a/x?application_name=mine&target_session_attrs=any&sslmode=verify-full&options=-c%20work_mem%3D1MB"
        )
        #expect(all["application_name"] == "mine" && all["target_session_attrs"] == "any")
        #expect(all["sslmode"] == "verify-full")
        #expect(all["options"] == nil)
    }

    @Test("a read-only configuration cannot be undone by the URL")
    func readOnly() throws {
        let all = try keywords(
            "postgres://u@a/x?target_session_attrs=read-write&options=-c%20default_transaction_read_only%3Doff",
            isReadOnly: true)
        #expect(all["target_session_attrs"] == "primary")
    }

    @Test("a read-only session reads the primary, and a replica only where the URL asks for one")
    func replica() throws {
        for (word, isAllowed) in [
            (nil, false), ("primary", false), ("read-write", false), ("any", true), ("standby", true),
            ("prefer-standby", true), ("read-only", true),
        ] {
            let url = "postgres://u@a,b/x" + (word.map { "?target_session_attrs=\($0)" } ?? "")
            let found = try keywords(url, isReadOnly: true)["target_session_attrs"]
            #expect(found == (isAllowed ? word : "primary"))
            #expect(try ConnectionTarget(Secret(url)).allowsReplica == isAllowed)
        }
    }
}

@Suite("Back-off")
struct BackoffTests {
    @Test("the pause doubles from 50 ms, is at most 1 s, and jitter only shortens it")
    func pauses() throws {
        let now = ContinuousClock.now
        for jitter in [0, 0.5, 0.999_999] {
            var backoff = Backoff()
            var nominal = Duration.milliseconds(50)
            for _ in 0..<40 {
                backoff.failed(.dependency, at: now, jitter: jitter)
                let pause = now.duration(to: try #require(backoff.nextAttempt))
                #expect(pause >= nominal / 2 && pause <= nominal)
                nominal = min(nominal * 2, .seconds(1))
            }
        }
    }

    @Test("a success forgets all failures")
    func success() {
        var backoff = Backoff()
        backoff.failed(.starting, at: .now, jitter: 0)
        #expect(backoff.isFailing && backoff.reason == .starting)
        backoff.succeeded()
        #expect(!backoff.isFailing && backoff.reason == nil && backoff.nextAttempt == nil)
    }

    @Test("jitter is spread over 0..<1, also from the seed 0", arguments: [0, 1, -1, 4_711])
    func jitter(seed: Int) {
        var jitter = Jitter(seed: seed)
        // The first ones still show a small seed.
        for _ in 0..<16 { _ = jitter.next() }
        let values = (0..<1_000).map { _ in jitter.next() }
        #expect(values.allSatisfy { (0..<1).contains($0) })
        for tenth in 0..<10 {
            let count = values.filter { Int($0 * 10) == tenth }.count
            #expect((50...150).contains(count))
        }
    }

    @Test("the process makes at most five attempts a second")
    func throttle() {
        let throttle = ConnectionThrottle()
        let now = ContinuousClock.now
        let slots = (0..<11).map { _ in now.duration(to: throttle.reserve(from: now)) }
        #expect(slots.first == .zero)
        #expect(slots.last == .seconds(2))
        #expect(now.duration(to: throttle.reserve(from: now + .seconds(60))) == .seconds(60))
    }
}
