import AuthTesting
import Foundation
import JSON
import Primitives
import EmbeddedPostgres
import Testing

/// Whatever of ours breaks: 503 with `Retry-After`, and well again with the next request after the repair.
@Suite("A fault of ours is never a verdict, over sockets", .blocking)
struct FaultTests {
    private static let reader = "fault_reader"

    private struct Fault: CustomTestStringConvertible, Sendable {
        let name: String
        let breaking: String
        let mending: String
        /// Of the calls below; the others may succeed.
        var failing: Set<String> = ["refresh", "exchange", "exchange without a device", "access token"]

        var testDescription: String { name }
    }

    private static func claims(_ body: String, _ language: String = "sql") -> String {
        "CREATE OR REPLACE FUNCTION sallyport.custom_claims(user_id text, device_id uuid) RETURNS jsonb "
            + "LANGUAGE \(language) AS $$ \(body) $$"
    }

    private static let all: Set<String> = [
        "refresh", "exchange", "exchange without a device", "access token", "session", "devices", "sign-out",
    ]

    private static let faults: [Fault] = [
        Fault(
            name: "the right to read users is withdrawn", breaking: "REVOKE SELECT ON \"user\" FROM \(reader)",
            mending: "GRANT SELECT ON \"user\" TO \(reader)"),
        Fault(
            name: "the right to read sessions is withdrawn", breaking: "REVOKE SELECT ON session FROM \(reader)",
            mending: "GRANT SELECT ON session TO \(reader)",
            failing: ["exchange", "exchange without a device", "access token"]),
        Fault(
            name: "the users' table is renamed", breaking: "ALTER TABLE \"user\" RENAME TO moved",
            mending: "ALTER TABLE moved RENAME TO \"user\""),
        Fault(
            name: "the sessions' table is renamed", breaking: "ALTER TABLE session RENAME TO moved",
            mending: "ALTER TABLE moved RENAME TO session",
            failing: ["exchange", "exchange without a device", "access token"]),
        Fault(
            name: "a column has another name",
            breaking: "ALTER TABLE \"user\" RENAME \"emailVerified\" TO \"isEmailVerified\"",
            mending: "ALTER TABLE \"user\" RENAME \"isEmailVerified\" TO \"emailVerified\""),
        Fault(
            name: "our table of device sessions is renamed",
            breaking: "ALTER TABLE sallyport.device_sessions RENAME TO moved",
            mending: "ALTER TABLE sallyport.moved RENAME TO device_sessions",
            failing: ["refresh", "exchange", "session", "devices", "sign-out"]),
        Fault(
            name: "our table of sessions is renamed",
            breaking: "ALTER TABLE sallyport.identity_sessions RENAME TO moved",
            mending: "ALTER TABLE sallyport.moved RENAME TO identity_sessions",
            failing: ["exchange", "exchange without a device", "access token"]),
        Fault(
            name: "a sealed secret does not open",
            breaking: "UPDATE sallyport.device_sessions SET sealed_secret = set_byte(sealed_secret, 20, "
                + "get_byte(sealed_secret, 20) # 1)",
            mending: "UPDATE sallyport.device_sessions SET sealed_secret = set_byte(sealed_secret, 20, "
                + "get_byte(sealed_secret, 20) # 1)", failing: ["refresh"]),
        Fault(
            name: "a reason that no version knows",
            breaking: "UPDATE sallyport.device_sessions SET ended_at = created_at, end_reason = 'of_a_newer_version'",
            mending: "UPDATE sallyport.device_sessions SET ended_at = NULL, end_reason = NULL", failing: ["refresh"]),
        Fault(
            name: "custom_claims raises", breaking: claims("BEGIN RAISE EXCEPTION 'no'; END", "plpgsql"),
            mending: claims("SELECT '{}'::jsonb")),
        Fault(
            name: "custom_claims divides by zero",
            breaking: claims("SELECT jsonb_build_object('n', 1 / (length(user_id) - length(user_id)))"),
            mending: claims("SELECT '{}'::jsonb")),
        Fault(
            name: "custom_claims is no object", breaking: claims("SELECT '[1]'::jsonb"),
            mending: claims("SELECT '{}'::jsonb")),
        Fault(
            name: "custom_claims is JSON's null", breaking: claims("SELECT 'null'::jsonb"),
            mending: claims("SELECT '{}'::jsonb")),
        Fault(
            name: "custom_claims is too large", breaking: claims("SELECT jsonb_build_object('a', repeat('x', 2048))"),
            mending: claims("SELECT '{}'::jsonb")),
        Fault(
            name: "custom_claims is not there",
            breaking: "ALTER FUNCTION sallyport.custom_claims(text, uuid) RENAME TO moved",
            mending: "ALTER FUNCTION sallyport.moved(text, uuid) RENAME TO custom_claims"),
        Fault(
            name: "custom_claims takes too long",
            breaking: claims("BEGIN PERFORM pg_sleep(5); RETURN '{}'::jsonb; END", "plpgsql"),
            mending: claims("SELECT '{}'::jsonb")),
    ]

    /// A deployment whose identity store is read by a role of its own, and a signed-in user.
    fileprivate struct Bench {
        let site: Site
        let client: AuthClient
        let session: BetterAuthTables.Session
        let pair: TokenPair
        let access: String

        init(in cluster: ScratchCluster? = nil, settings: [String: String] = [:]) throws {
            let site = try Site(
                in: cluster, settings: ["SALLYPORT_IDENTITY_POLL": "1s"].merging(settings) { _, given in given })
            self.site = site
            try site.tables.grantReading(to: FaultTests.reader)
            client = try AuthClient(
                site.serve(settings: ["SALLYPORT_IDENTITY_DATABASE_URL": site.database.url(role: FaultTests.reader)]))
            session = try site.tables.signIn()
            pair = try client.signedIn(session.signed)
            access = pair.access
            // The watch, too, has something to lose.
            for _ in 0..<2 { _ = try client.signedIn(site.tables.signIn().signed) }
        }

        func calls() -> [(name: String, call: () throws -> HTTPAnswer)] {
            [
                ("refresh", { try client.refresh(pair.refresh) }),
                ("exchange", { try client.exchange(session.signed, installation: "installation-0002") }),
                ("exchange without a device", { try client.exchange(session.signed, installation: nil) }),
                ("access token", { try client.get("/auth/token", bearer: session.signed) }),
                ("session", { try client.get("/auth/session", bearer: access) }),
                ("devices", { try client.get("/auth/devices", bearer: access) }),
            ]
        }
    }

    /// Looks at every answer while something is broken.
    private func expectNoVerdict(_ bench: Bench, _ failing: Set<String>, _ what: String) throws {
        for (name, call) in bench.calls() {
            let answer = try call()
            if failing.contains(name) || answer.status != 200 {
                #expect(answer.status == 503, "\(what), \(name): \(answer)")
                try expectUnavailable(answer, among: ["dependency", "busy"])
            }
            #expect(answer.json?["proof"] == nil)
        }
    }

    @Test("the table of faults: what needs the broken thing is 503, nothing is a verdict, and the repair is enough")
    func faults() throws {
        let bench = try Bench()
        var generation: Int64 = 1
        var current = bench.pair
        for fault in Self.faults {
            let broken = Bench(bench, pair: current)
            try bench.site.database.sql(fault.breaking)
            try expectNoVerdict(broken, fault.failing, fault.name)
            try bench.site.database.sql(fault.mending)
            // The same token, at the next request: what may have succeeded meanwhile is repeated.
            let mended = try bench.client.refresh(current.refresh)
            #expect(mended.status == 200, "\(fault.name): \(mended)")
            current = try TokenPair(mended)
            generation += 1
            #expect(try current.generation == generation, "\(fault.name)")
            #expect(try bench.client.exchange(bench.session.signed).status == 200, "\(fault.name)")
            #expect(try bench.client.get("/auth/devices", bearer: current.access).status == 200, "\(fault.name)")
        }
        let log = bench.client.server.log
        #expect(log.contains("custom_claims failed") && log.contains("P0001") && log.contains("22012"))
        #expect(log.contains("custom_claims returned no object"))
        #expect(log.contains("custom_claims cannot be called"))
    }

    @Test(
        "a table that is locked for longer than anybody waits is 503, and then well again",
        arguments: [
            "\"user\"", "session", "sallyport.device_sessions",
        ])
    func slow(table: String) throws {
        let bench = try Bench()
        let answers = try HTTPClient.together(4) { index in
            if index == 0 {
                try bench.site.database.sql("BEGIN; LOCK TABLE \(table); SELECT pg_sleep(5); COMMIT")
                return nil as HTTPAnswer?
            }
            usleep(500_000)
            return try bench.calls()[index - 1].call()
        }
        var failed = 0
        for answer in answers.compactMap({ $0 }) where answer.status != 200 {
            try expectUnavailable(answer, among: ["dependency", "busy"])
            failed += 1
        }
        #expect(failed > 0)
        #expect(try bench.client.refreshed(bench.pair.refresh).generation == 2)
    }

    @Test(
        "a database that is stopped is 503 at every route, and well again with the next request",
        arguments: [
            EmbeddedPostgres.StopMode.fast, .immediate,
        ])
    func stopped(mode: EmbeddedPostgres.StopMode) throws {
        let cluster = try ScratchCluster.own(durability: .durable)
        let bench = try Bench(in: cluster)
        cluster.stop(mode)
        for _ in 0..<2 { try expectNoVerdict(bench, Self.all, "stopped") }
        try expectUnavailable(
            bench.client.call("POST", "/auth/sign-out", bearer: bench.access), among: ["dependency", "busy"])
        try expectUnavailable(
            bench.client.call("POST", "/auth/devices/\(bench.pair.deviceID)/lost", bearer: bench.access),
            among: ["dependency", "busy"])
        try cluster.start()
        var answer = try bench.client.refresh(bench.pair.refresh)
        _ = try waitUntil(limit: .seconds(10)) {
            if answer.status == 503 { answer = try bench.client.refresh(bench.pair.refresh) }
            return answer.status != 503
        }
        #expect(try TokenPair(answer).generation == 2)
        #expect(try bench.client.get("/auth/session", bearer: bench.access).status == 200)
    }

    @Test("a server with another key-encryption key does not start, and gives no answer but 503")
    func otherKEK() throws {
        let bench = try Bench()
        let other = try bench.site.start(settings: ["SALLYPORT_KEK": String(repeating: "A", count: 43) + "="])
        #expect(!waitUntil(limit: .seconds(4)) { other.readyLine != nil })
        #expect(try bench.client.refreshed(bench.pair.refresh).generation == 2)
    }
}

extension FaultTests.Bench {
    fileprivate init(_ bench: FaultTests.Bench, pair: TokenPair) {
        site = bench.site
        client = bench.client
        session = bench.session
        self.pair = pair
        access = pair.access
    }
}
