import AuthTesting
import Foundation
import JOSE
import JSON
import Primitives
import Testing

@Suite("Rotation of keys with several servers", .blocking)
struct KeyRotationTests {
    private static let settings = ["SALLYPORT_PUBLISH_LEAD": "10m", "SALLYPORT_ACCESS_TTL": "5m"]

    @Test(
        "through rotate, promote and retire under load, verifiers that cache see not one failed token from two servers")
    func commands() throws {
        let run = try RotationRun(Self.settings)
        try run.underLoad {
            let old = try run.signingKID()
            let new = try run.rotate(behind: old)
            #expect(try run.kids() == [old, new] && new != old)
            #expect(try run.refused("promote").contains("not published long enough"))
            for _ in 0..<9 { try run.pass(minutes: 1) }
            #expect(try run.refused("promote", new).contains("--emergency"))
            #expect(try run.kids().first == old)

            // The servers look by themselves: one of them may be faster than the command.
            try run.pass(minutes: 1)
            let promoted = try run.keys("promote", new)
            #expect(promoted.status == 0 || promoted.errorText.contains("current already"))
            try run.settle { $0 == [new, old] }
            #expect(try run.signingKID() == new)
            #expect(try run.refused("retire", new).contains("rotate"))
            #expect(try run.refused("retire", old).contains("may live"))
            for _ in 0..<8 { try run.pass(minutes: 1) }
            try run.must("retire", old)
            try run.settle { $0 == [new] }
            try run.pass(minutes: 6)
            try run.pass(minutes: 6)
        }
        try run.expectNoRefusal(fetches: 3)
        #expect(
            try run.keys("rotate", settings: ["SALLYPORT_PUBLISH_LEAD": "9m"]).errorText.contains(
                "SALLYPORT_PUBLISH_LEAD"))
    }

    @Test("the same run with a lead that an emergency undercuts is seen by the verifiers: they would notice")
    func undercut() throws {
        let run = try RotationRun(Self.settings)
        try run.underLoad {
            let old = try run.signingKID()
            try run.pass(minutes: 1)
            let new = try run.rotate(behind: old)
            try run.must("promote", new, "--emergency")
            try run.settle { $0 == [new, old] }
            try run.pass(minutes: 1)
        }
        #expect(run.loads.contains { load in load.verifier.refusals.contains { $0.hasPrefix("unknown key") } })
    }

    @Test("by schedule two servers rotate from next to removed in step, and verifiers that cache notice nothing")
    func schedule() throws {
        let run = try RotationRun(Self.settings.merging(["SALLYPORT_KEY_ROTATION": "1d"]) { $1 })
        let seen = Locked<Set<[String]>>([])
        try run.underLoad {
            let old = try run.signingKID()
            try run.pass(minutes: 23 * 60 + 48)
            let end = ContinuousClock.now + .seconds(150)
            while ContinuousClock.now < end {
                try run.pass(minutes: 2)
                let kids = try run.kids()
                seen.withLock { _ = $0.insert(kids) }
                // What is due is due now; the servers look every ten seconds.
                if try run.isSomethingDue() { try run.settleDue() }
                if try !run.kids().contains(old) { break }
            }
            #expect(try !run.kids().contains(old))
        }
        try run.expectNoRefusal(fetches: 5)
        #expect(seen.withLock { $0.contains { $0.count == 2 } })
        let events = try run.site.database.sql(
            "SELECT event, count(id) FROM sallyport.audit_events WHERE event LIKE 'key_%' GROUP BY 1 ORDER BY 1")
        // Each once, though two servers looked: for the key of access tokens and that of refresh tokens.
        #expect(events == [["key_made", "2"], ["key_promoted", "2"], ["key_removed", "1"], ["key_retired", "2"]])
    }

    @Test("a server that is killed in the middle of a rotation leaves nothing behind, and another of three does it")
    func killed() throws {
        let site = try Site(settings: ["SALLYPORT_ISSUER": "http://127.0.0.1:8080", "SALLYPORT_PUBLISH_LEAD": "10m"])
        let servers = try (0..<3).map { _ in try AuthClient(site.serve(["--test-target"])) }
        let kids = try KeySets.kids(of: servers[0])
        let database = site.database
        _ = try HTTPClient.together(3) { index in
            switch index {
            case 0: HeldKeys.hold(in: database)
            case 1:
                try HeldKeys.expectHeld(in: database)
                _ = try? servers[0].call("POST", "/test/clock/advance", json: ["seconds": .integer(91 * 86_400)])
            default:
                let waiting =
                    "SELECT count(pid) FROM pg_locks WHERE NOT granted AND relation = 'sallyport.keys'::regclass"
                let isWaiting = try waitUntil(limit: .seconds(20)) { try database.sql(waiting) != [["0"]] }
                #expect(isWaiting)
                servers[0].server.kill()
            }
        }
        // The clock had been moved for all: the others do what the killed one did not, once.
        try KeySets.settle(servers[1...], beside: servers[1]) { $0.count == 2 && $0.first == kids.first }
        let made = "SELECT purpose, count(kid) FROM sallyport.keys WHERE state = 'next' GROUP BY 1 ORDER BY 1"
        #expect(try database.sql(made) == [["access", "1"], ["refresh", "1"]])
        let published = try KeySets.kids(of: servers[1])
        try Self.advance(servers[1], by: 600)
        try KeySets.settle(servers[1...], beside: servers[1]) { $0 == published.reversed() }
        let pair = try servers[2].signedIn(
            site.tables.session(of: site.tables.user(), lifetime: .days(200)).signed)
        #expect(try UnverifiedJWS(pair.access).kid == published.last)
        let late = try AuthClient(site.serve(["--test-target"]))
        #expect(try KeySets.kids(of: late) == published.reversed())
        #expect(try late.refreshed(pair.refresh).generation == 2)
    }

    @Test("what no notification tells is found by looking")
    func polling() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        #expect(try site.run(["keys", "rotate"]).status == 0)
        try KeySets.settle([client], beside: client) { $0.count == 2 }
        try site.database.sql(
            "UPDATE sallyport.keys SET state = 'removed', sealed_private_key = NULL WHERE state = 'next'")
        try KeySets.settle([client], beside: client) { $0.count == 1 }
    }

    @Test("a command that is killed while it waits for its turn changes nothing, and the next one is not held up")
    func killedCommand() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let kids = try KeySets.kids(of: client)
        let database = site.database
        _ = try HTTPClient.together(2) { index in
            if index == 0 { return HeldKeys.hold(in: database) }
            try HeldKeys.expectHeld(in: database)
            let command = try site.begin(["keys", "rotate"])
            try HeldKeys.expectWaiting(in: database)
            command.kill()
            try HeldKeys.release(in: database)
        }
        #expect(try KeySets.kids(of: client) == kids)
        #expect(try site.run(["keys", "rotate"]).status == 0)
        try KeySets.settle([client], beside: client) { $0.count == 2 }
    }

    private static func advance(_ client: AuthClient, by seconds: Int64) throws {
        #expect(try client.call("POST", "/test/clock/advance", json: ["seconds": .integer(seconds)]).status == 200)
    }
}

/// The table of the keys, held by somebody else: it is read, and every change waits.
enum HeldKeys {
    private static let mark = "held by a test"

    /// Until it is released. Blocks.
    static func hold(in database: ScratchDatabase) {
        _ = try? database.sql(
            "SET application_name = '\(mark)'; BEGIN; LOCK TABLE sallyport.keys IN SHARE MODE; SELECT pg_sleep(60); COMMIT;"
        )
    }

    static func release(in database: ScratchDatabase) throws {
        try database.sql(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() "
                + "AND application_name = '\(mark)'")
    }

    static func expectHeld(in database: ScratchDatabase) throws {
        try expectLocks("granted AND mode = 'ShareLock'", in: database)
    }

    /// Somebody is in the middle of a change.
    static func expectWaiting(in database: ScratchDatabase) throws {
        try expectLocks("NOT granted", in: database)
    }

    private static func expectLocks(_ condition: String, in database: ScratchDatabase) throws {
        let count =
            "SELECT count(pid) FROM pg_locks WHERE \(condition) AND relation = 'sallyport.keys'::regclass"
        let isThere = try waitUntil(limit: .seconds(40)) { try database.sql(count) != [["0"]] }
        #expect(isThere, "\(condition)")
    }
}

/// The key sets that servers publish.
enum KeySets {
    static func kids(of client: AuthClient) throws -> [String] {
        try JWKSet.parse(client.get("/.well-known/jwks.json").body).kids
    }

    /// Until all of them publish the same keys as the first, and those fit.
    static func settle(
        _ clients: some Sequence<AuthClient>, beside first: AuthClient, _ fits: ([String]) -> Bool
    ) throws {
        let isSettled = try waitUntil(limit: .seconds(40)) {
            let found = try kids(of: first)
            return try fits(found) && clients.allSatisfy { try kids(of: $0) == found }
        }
        let found = try kids(of: first)
        #expect(isSettled, "\(found)")
    }
}

/// Two servers of production, and two loads that mint on one and verify by the other. Time passes by moving the keys into
/// the past: servers and commands keep the machine's clock.
struct RotationRun {
    let site: Site
    let clients: [AuthClient]
    let loads: [MintingLoad]

    init(_ settings: [String: String]) throws {
        site = try Site(settings: settings)
        clients = try [AuthClient(site.serve()), AuthClient(site.serve())]
        let session = try site.tables.signIn().signed
        loads = [(0, 1), (1, 0)].map { [clients] minting, verifying in
            MintingLoad(
                minting: clients[minting], verifyingBy: clients[verifying], session: session, lifetime: 300)
        }
    }

    /// Runs a body beside both loads, and ends them.
    func underLoad(_ body: @escaping @Sendable () throws -> Void) throws {
        _ = try HTTPClient.together(3) { index in
            defer { for load in loads { load.end() } }
            if index == 2 { try body() } else { try loads[index].run() }
        }
    }

    func pass(minutes: Int) throws {
        try site.database.sql(
            """
            UPDATE sallyport.keys SET created_at = created_at - interval '\(minutes) minutes',
                state_at = state_at - interval '\(minutes) minutes'
            """)
        for load in loads { load.advance(by: Double(minutes) * 60) }
    }

    func kids() throws -> [String] { try KeySets.kids(of: clients[0]) }

    func signingKID() throws -> String {
        let token = try clients[1].exchange(site.tables.signIn().signed).text("access_token")
        return try #require(try UnverifiedJWS(token).kid)
    }

    func settle(_ fits: ([String]) -> Bool) throws {
        try KeySets.settle(clients, beside: clients[0], fits)
    }

    func keys(_ arguments: String..., settings: [String: String] = [:]) throws -> SallyportProcess {
        try site.run(["keys"] + arguments, settings: settings)
    }

    func must(_ arguments: String...) throws {
        let command = try site.run(["keys"] + arguments)
        #expect(command.status == 0, "\(arguments): \(command.errorText)")
    }

    /// The key that both servers publish behind the one that signs.
    func rotate(behind old: String) throws -> String {
        try must("rotate")
        try settle { $0.count == 2 && $0.first == old }
        return try #require(try kids().last)
    }

    /// What a command says that is refused.
    func refused(_ arguments: String...) throws -> String {
        let command = try site.run(["keys"] + arguments)
        #expect(command.status == 1, "\(arguments): \(command.outputText)")
        return command.errorText
    }

    func expectNoRefusal(fetches: Int) throws {
        for load in loads {
            #expect(load.verifier.refusals == [])
            #expect(load.verifier.judged > 100 && load.verifier.fetches >= fetches)
        }
    }

    private static let due = """
        SELECT count(kid) FROM sallyport.keys k WHERE (state = 'next' AND created_at <= now() - interval '10 minutes')
            OR (state = 'current' AND purpose <> 'verdict' AND state_at <= now() - interval '1 day' + interval '10 minutes'
                AND NOT EXISTS (SELECT 1 FROM sallyport.keys n WHERE n.purpose = k.purpose AND n.state = 'next'))
            OR (state = 'retired' AND purpose = 'access' AND state_at <= now() - interval '67 minutes')
        """

    func isSomethingDue() throws -> Bool { try site.database.sql(Self.due) != [["0"]] }

    /// The servers look every ten seconds.
    func settleDue() throws {
        let isDone = try waitUntil(limit: .seconds(30)) { try !isSomethingDue() }
        #expect(isDone)
        try settle { _ in true }
    }
}
