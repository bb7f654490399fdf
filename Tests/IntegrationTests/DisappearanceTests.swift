import AuthTesting
import JSON
import Primitives
import Testing

@Suite("A mass disappearance, and the commands about it, over sockets", .blocking)
struct DisappearanceTests {
    /// Twelve users signed in, on a server that looks at the tables every second.
    private struct Fleet {
        let site: Site
        let client: AuthClient
        let sessions: [BetterAuthTables.Session]
        var pairs: [TokenPair]

        init() throws {
            site = try Site(settings: ["SALLYPORT_IDENTITY_POLL": "1s"])
            let client = try AuthClient(site.serve())
            self.client = client
            let tables = site.tables
            sessions = try (0..<12).map { _ in try tables.signIn() }
            pairs = try sessions.map { try client.signedIn($0.signed) }
        }

        mutating func refreshAll(at location: SourceLocation = #_sourceLocation) throws {
            for index in pairs.indices {
                let answer = try client.refresh(pairs[index].refresh)
                #expect(answer.status == 200, "\(answer)", sourceLocation: location)
                pairs[index] = try TokenPair(answer)
            }
        }

        func isReady(_ isReady: Bool) -> Bool {
            waitUntil(limit: .seconds(30)) { (try? client.get("/readyz").status) == (isReady ? 200 : 503) }
        }

        func command(_ words: String...) throws -> String {
            let process = try site.run(words)
            #expect(process.status == 0, "\(words): \(process.errorText)")
            return process.outputText
        }
    }

    @Test("no verdict is given while sessions are missing; dismissed they are missed again, confirmed they have ended")
    func sessions() throws {
        var fleet = try Fleet()
        let gone = fleet.sessions[..<11]
        try fleet.site.database.sql("DELETE FROM session WHERE id <> '\(fleet.sessions[11].id)'")
        // Before any look, and after it.
        for _ in 0..<2 {
            try fleet.refreshAll()
            for session in gone.prefix(3) {
                try expectUnavailable(fleet.client.exchange(session.signed), among: ["dependency"])
                try expectUnavailable(fleet.client.get("/auth/token", bearer: session.signed), among: ["dependency"])
            }
            #expect(try fleet.client.exchange(fleet.sessions[11].signed).status == 200)
            #expect(fleet.isReady(false))
        }
        #expect(try fleet.client.get("/readyz").text.contains("identity confirm"))
        #expect(try fleet.client.get("/livez").status == 200)

        #expect(try fleet.command("identity", "dismiss").contains("dismissed"))
        #expect(fleet.isReady(false))
        try fleet.refreshAll()
        #expect(try fleet.command("identity", "confirm").contains("11 sessions have ended"))
        #expect(fleet.isReady(true))
        for index in gone.indices {
            try expectRefusal(
                fleet.client.refresh(fleet.pairs[index].refresh), 400, "invalid_grant", "session_revoked", "lock")
        }
        try expectRefusal(
            fleet.client.exchange(gone[0].signed), 400, "invalid_grant", "session_revoked", "lock")
        #expect(try fleet.client.refreshed(fleet.pairs[11].refresh).sid == fleet.pairs[11].sid)
        for word in ["confirm", "dismiss"] { #expect(try fleet.command("identity", word).contains("nothing to do")) }
    }

    @Test("users that vanished go on as they were last known, and are well again once the table is repaired")
    func users() throws {
        var fleet = try Fleet()
        try fleet.site.tables.setVerified(false, userID: fleet.sessions[0].userID)
        try fleet.refreshAll()
        try fleet.site.database.sql(
            """
            CREATE TABLE kept_users AS SELECT * FROM "user"; CREATE TABLE kept_sessions AS SELECT * FROM session;
            DELETE FROM "user"
            """)
        for _ in 0..<2 {
            try fleet.refreshAll()
            #expect(try fleet.pairs[0].accessClaims["email_verified"] == false)
            #expect(try fleet.pairs[0].accessClaims["scope"] == "api")
            #expect(try fleet.pairs[1].accessClaims["email_verified"] == true)
            #expect(try fleet.pairs[1].accessClaims["scope"] == "api sync")
            let who = try fleet.client.get("/auth/session", bearer: fleet.pairs[1].access)
            try expectUnavailable(who, among: ["dependency"])
            #expect(fleet.isReady(false))
        }
        try fleet.site.database.sql(
            "INSERT INTO \"user\" SELECT * FROM kept_users; INSERT INTO session SELECT * FROM kept_sessions")
        _ = try fleet.command("identity", "dismiss")
        #expect(fleet.isReady(true))
        try fleet.refreshAll()
        for session in fleet.sessions { #expect(try fleet.client.exchange(session.signed).status == 200) }
        #expect(try fleet.client.get("/readyz").status == 200)
    }

    @Test("sessions and devices are listed, ended and held by command while the server runs")
    func commands() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let user = try site.tables.user()
        let pairs = try (0..<4).map { index in
            try client.signedIn(site.tables.session(of: user).signed, installation: "installation-000\(index)")
        }
        let stranger = try client.signedIn(site.tables.signIn().signed)
        func lines(_ words: [String]) throws -> [String] { try site.run(words).outputLines }
        for (command, mine) in [("sessions", pairs.map(\.sid)), ("devices", pairs.map(\.deviceID))] {
            let (all, own) = (try lines([command, "list"]), try lines([command, "list", "--user", user]))
            #expect(all.count == 5 && own.count == 4)
            for id in mine { #expect(own.filter { $0.hasPrefix(id) }.count == 1) }
        }
        #expect(try site.run(["sessions", "end", pairs[0].sid]).status == 0)
        try expectRefusal(client.refresh(pairs[0].refresh), 400, "invalid_grant", "session_revoked", "lock")
        for (order, reason) in [("revoke", "device_revoked"), ("wipe", "wipe_ordered")] {
            let pair = order == "revoke" ? pairs[1] : pairs[2]
            for _ in 0..<2 { #expect(try site.run(["devices", order, pair.deviceID]).status == 0) }
            try expectRefusal(client.refresh(pair.refresh), 400, "invalid_grant", reason, "wipe")
        }
        let last = pairs[3]
        #expect(try site.run(["devices", "suspend", last.deviceID]).status == 0)
        try expectRefusal(client.refresh(last.refresh), 400, "invalid_grant", "device_suspended", "lock")
        #expect(try client.get("/auth/session", bearer: last.access).status == 401)
        #expect(try site.run(["devices", "suspend", last.deviceID]).status == 1)
        #expect(try site.run(["devices", "resume", last.deviceID]).status == 0)
        let resumed = try client.refreshed(last.refresh)
        #expect(try resumed.generation == 2)

        #expect(try site.run(["sessions", "end", "--user", user]).outputText.contains("ended 1"))
        try expectRefusal(client.refresh(resumed.refresh), 400, "invalid_grant", "session_revoked", "lock")
        #expect(try site.run(["sessions", "end", "--user", user]).outputText.contains("ended 0"))
        #expect(try client.refreshed(stranger.refresh).generation == 2)

        let nobody = "00000000-0000-4000-8000-000000000000"
        for words in [
            ["sessions", "end", nobody], ["sessions", "end", pairs[0].sid], ["devices", "revoke", nobody],
            ["devices", "resume", nobody],
        ] { #expect(try site.run(words).status == 1, "\(words)") }
        for words in [
            ["sessions"], ["sessions", "end"], ["sessions", "end", "x"], ["devices"], ["devices", "revoke"],
            ["devices", "lose", nobody], ["devices", "revoke", "x"], ["identity"], ["identity", "forget"],
            ["sessions", "list", "--user"], ["devices", "list", "more"],
        ] { #expect(try site.run(words).status == 2, "\(words)") }
    }
}
