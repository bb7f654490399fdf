import AuthTesting
import Crypto
import JSON
import Primitives
import Testing

/// Contract section 3.1, with clocks of processes and of the database that are really wrong.
@Suite("Clocks, over sockets", .blocking)
struct ClockTests {
    /// What `/readyz` says of the clock, whatever else it says.
    private func clock(_ client: AuthClient) throws -> String {
        try #require(client.get("/readyz").json?["checks"]?.objectValue?["clock"]?.stringValue)
    }

    private func isReady(_ client: AuthClient) throws -> Bool { try client.get("/readyz").status == 200 }

    private func expectClose(_ answer: HTTPAnswer, at location: SourceLocation = #_sourceLocation) throws {
        let now = BetterAuthTables.now.secondsSinceEpoch
        #expect(abs(try answer.integer("server_time") - now) <= 2, sourceLocation: location)
    }

    private func send(
        _ token: String, to target: String, at client: AuthClient, fields: [(String, String)] = []
    ) throws -> HTTPAnswer {
        try client.http.send(
            "POST", target, fields: fields + [("Content-Type", "application/x-www-form-urlencoded")],
            body: Array("token=\(token)".utf8))
    }

    private func introspect(_ token: String, at client: AuthClient) throws -> HTTPAnswer {
        let credentials = Base64.encode(Array("api:secret".utf8))
        return try send(token, to: "/auth/introspect", at: client, fields: [("Authorization", "Basic \(credentials)")])
    }

    // MARK: Two servers

    @Test(
        "two servers whose machines are 15 minutes apart have one clock: each takes and revokes what the other issues",
        arguments: [15, -15])
    func apart(minutes: Int64) throws {
        let site = try Site(settings: [
            "SALLYPORT_RESOURCE_SERVERS": "api:\(Hex.encode(SHA256.hash(Array("secret".utf8))))"
        ])
        let wrong = try SkewedClock(.minutes(minutes))
        let clients = [
            try AuthClient(site.serve(settings: wrong.environment)), try AuthClient(site.serve()),
        ]
        for (one, other) in [(clients[0], clients[1]), (clients[1], clients[0])] {
            let user = try site.tables.user()
            let pair = try one.signedIn(site.tables.session(of: user).signed)
            try expectClose(pair.answer)
            #expect(try other.get("/auth/devices", bearer: pair.access).status == 200)
            // A lost answer, repeated next door without a key.
            let second = try other.refreshed(pair.refresh)
            #expect(try one.refreshed(pair.refresh).refresh == second.refresh)
            // The same access token, revoked next door.
            #expect(try introspect(second.access, at: one).json?["active"] == true)
            #expect(try send(second.access, to: "/auth/revoke", at: one).status == 200)
            #expect(try introspect(second.access, at: other).json == ["active": false])
            try expectRefusal(
                other.get("/auth/devices", bearer: second.access), 401, "invalid_token", "access_revoked", "refresh")
            // A thief has the first one; its racing time is over for both.
            _ = try one.refreshed(second.refresh)
            try site.database.sql(
                "UPDATE sallyport.device_sessions SET rotated_at = rotated_at - interval '11 s' WHERE id = '\(pair.sid)'"
            )
            for client in [other, one] {
                try expectRefusal(client.refresh(pair.refresh), 400, "invalid_grant", "refresh_reused", "lock")
            }
        }
        let warning = try clock(clients[0])
        #expect(try clients.allSatisfy(isReady))
        #expect(try clock(clients[1]) == "ok")
        #expect(warning.contains("s \(minutes > 0 ? "behind" : "ahead of") this machine's"), "\(warning)")
        let gauges = try clients[0].get("/metrics").text.split(separator: "\n")
            .first { $0.hasPrefix("sallyport_clock_difference_seconds ") }
        let gauge = try #require(gauges?.split(separator: " ").last.flatMap { Double($0) })
        #expect(abs(gauge + Double(minutes) * 60) < 2)
    }

    @Test("commands on a machine with a wrong clock use the database's")
    func commands() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let wrong = try SkewedClock(.days(40))
        let user = try site.tables.user()
        let pairs = try (1...2).map {
            try client.signedIn(site.tables.session(of: user).signed, installation: "installation-000\($0)")
        }
        for arguments in [
            ["sessions", "end", pairs[0].sid], ["devices", "suspend", pairs[1].deviceID],
            ["devices", "revoke", pairs[0].deviceID], ["keys", "rotate"],
        ] {
            let command = try site.run(arguments, settings: wrong.environment)
            #expect(command.status == 0, "\(arguments): \(command.errorText)")
        }
        let late = try site.database.sql("SELECT count(id) FROM sallyport.audit_events WHERE at > now()")
        #expect(late == [["0"]])
        #expect(try site.run(["keys", "promote"], settings: wrong.environment).status == 1)
        let inspect = try site.run(["token", "inspect", pairs[0].access], settings: wrong.environment)
        #expect(inspect.outputText.contains("it is good"), "\(inspect.outputText)")
    }

    // MARK: A failed-over host

    /// What must not change, whatever the time is.
    private func state(_ site: Site) throws -> [[String]] {
        try site.database.sql(
            """
            SELECT 'session', count(id) FILTER (WHERE ended_at IS NULL), count(id) FROM sallyport.device_sessions
            UNION ALL SELECT 'identity', count(id) FILTER (WHERE ended_at IS NULL), count(id)
                FROM sallyport.identity_sessions
            UNION ALL SELECT 'key ' || purpose || ' ' || state, count(kid), 0 FROM sallyport.keys GROUP BY purpose, state
            UNION ALL SELECT 'revocation', count(id), 0 FROM sallyport.revocations
            UNION ALL SELECT 'token', count(jti), 0 FROM sallyport.revoked_access_tokens ORDER BY 1
            """)
    }

    @Test(
        "a failover to a host that is 40 days off expires, locks and deletes nothing, also at a server that starts then",
        arguments: [40, -40])
    func failedOver(days: Int64) throws {
        let site = try Site(settings: ["SALLYPORT_IDENTITY_POLL": "1s", "SALLYPORT_IDENTITY_FOLLOW": "session"])
        let client = try AuthClient(site.serve())
        let user = try site.tables.user()
        let session = try site.tables.session(of: user, lifetime: .days(20))
        var pair = try client.signedIn(session.signed)
        let revoked = try client.signedIn(session.signed, installation: "installation-0002")
        #expect(try send(revoked.access, to: "/auth/revoke", at: client).status == 200)
        let before = try state(site)

        try site.database.moveClock(by: .days(days))
        try site.database.endSessions()
        let isSeen = try waitUntil(limit: .seconds(40)) {
            let isReady = try isReady(client)
            return try !isReady && clock(client) != "ok"
        }
        let fault = try clock(client)
        #expect(isSeen && fault.contains("sallyport clock confirm"), "\(fault)")
        #expect(client.server.log.contains("the database's clock is not followed"))
        let late = try AuthClient(site.serve())
        #expect(try !isReady(late))
        #expect(try clock(late).contains("sallyport clock confirm"))
        // What lives goes on at both, with the time that the servers have.
        for server in [client, late, client] {
            pair = try server.refreshed(pair.refresh)
            try expectClose(pair.answer)
            #expect(try server.get("/auth/devices", bearer: pair.access).status == 200)
            #expect(try server.exchange(session.signed, installation: nil).status == 200)
        }
        let other = try site.run(["keys", "promote"])
        #expect(other.status == 1 && other.errorText.contains("clock confirm"), "\(other.errorText)")
        // What would expire waits. By the servers' own time, too.
        try site.database.sql(
            "UPDATE sallyport.device_sessions SET expires_at = '2026-01-01Z' WHERE id = '\(revoked.sid)'")
        for server in [client, late] {
            try expectUnavailable(server.refresh(revoked.refresh), among: ["busy"])
        }
        #expect(try state(site) == before)

        try site.database.moveClock(by: .zero)
        try site.database.endSessions()
        let isOver = try waitUntil(limit: .seconds(30)) { try [client, late].allSatisfy(isReady) }
        #expect(isOver)
        for server in [client, late] {
            try expectRefusal(server.refresh(revoked.refresh), 400, "invalid_grant", "refresh_expired", "lock")
            pair = try server.refreshed(pair.refresh)
        }
        let highest = "SELECT abs(EXTRACT(EPOCH FROM highest_at - now())) < 60 FROM sallyport.clocks"
        #expect(try site.database.sql(highest) == [["t"]])
    }

    @Test("an operator says that the database is right, and every server follows; a server that starts later too")
    func confirmed() throws {
        let site = try Site()
        let clients = [try AuthClient(site.serve()), try AuthClient(site.serve())]
        try site.database.moveClock(by: .days(2))
        try site.database.endSessions()
        let isSeen = try waitUntil(limit: .seconds(40)) { try clients.allSatisfy { try !isReady($0) } }
        #expect(isSeen)
        let command = try site.run(["clock", "confirm"])
        #expect(command.status == 0 && command.outputText.contains("confirmed"), "\(command.errorText)")
        let isOver = try waitUntil(limit: .seconds(20)) { try clients.allSatisfy(isReady) }
        #expect(isOver)
        let late = try AuthClient(site.serve())
        let ahead = BetterAuthTables.now.secondsSinceEpoch + 2 * 86_400
        for client in clients + [late] {
            let answer = try client.exchange(site.tables.signIn().signed)
            #expect(abs(try answer.integer("server_time") - ahead) <= 3)
            #expect(try clock(client).contains("172800 s ahead of this machine's"))
        }
        #expect(try site.run(["clock", "deny"]).status == 2)
    }

    @Test("where the machine's clock and further readings agree, a large difference is taken without a word")
    func agreed() throws {
        let site = try Site()
        let machine = try SkewedClock()
        let client = try AuthClient(site.serve(settings: machine.environment))
        machine.set(.days(3))
        try site.database.moveClock(by: .days(3))
        try site.database.endSessions()
        let isSeen = try waitUntil(limit: .seconds(40)) { try !isReady(client) }
        #expect(isSeen, "\(client.server.log.suffix(4_000))")
        let isOver = try waitUntil(limit: .seconds(40)) { try isReady(client) }
        #expect(isOver)
        #expect(try clock(client) == "ok")
        let answer = try client.get("/auth/session")
        #expect(abs(try answer.integer("server_time") - BetterAuthTables.now.secondsSinceEpoch - 3 * 86_400) <= 3)
    }

    @Test("a process starts from the latest time that a server has used")
    func highest() throws {
        let site = try Site()
        try site.serve().stop()
        try site.database.sql("UPDATE sallyport.clocks SET highest_at = now() + interval '50 s'")
        let client = try AuthClient(site.serve())
        let ahead = try client.get("/auth/session").integer("server_time") - BetterAuthTables.now.secondsSinceEpoch
        #expect((30...50).contains(ahead), "\(ahead)")
        #expect(try isReady(client))
    }

    // MARK: A test target

    @Test("the clock of a test target is the database's: every server and command follows within 100 ms")
    func target() throws {
        let site = try Site(settings: ["SALLYPORT_ISSUER": "http://127.0.0.1:8080"])
        let clients = try (0..<2).map { _ in try AuthClient(site.serve(["--test-target"])) }
        func now(_ client: AuthClient) throws -> Int64 { try client.get("/test/clock").integer("now") }
        let start = try now(clients[0])
        for (index, days) in [3, 20, -23, 400].enumerated() {
            let (mover, follower) = (clients[index % 2], clients[1 - index % 2])
            let moved = try mover.call("POST", "/test/clock/advance", json: ["seconds": .integer(Int64(days) * 86_400)])
            let end = ContinuousClock.now + .milliseconds(100)
            let wanted = try moved.integer("now")
            var isThere = false
            while !isThere, ContinuousClock.now < end + .milliseconds(100) {
                isThere = abs(try now(follower) - wanted) <= 1
            }
            #expect(isThere, "\(days)")
        }
        #expect(try now(clients[0]) - start >= 400 * 86_400)
        let late = try AuthClient(site.serve(["--test-target"]))
        #expect(abs(try now(late) - now(clients[0])) <= 1)
        let pair = try late.signedIn(
            site.tables.session(of: site.tables.user(), lifetime: .days(500)).signed)
        #expect(try clients[1].get("/auth/devices", bearer: pair.access).status == 200)
        #expect(try site.run(["sessions", "end", pair.sid]).status == 0)
        let ended = try site.database.sql(
            "SELECT ended_at > now() + interval '399 days' FROM sallyport.device_sessions")
        #expect(ended == [["t"]])
        #expect(
            try site.run(["sessions", "end", "--user", try #require(pair.accessClaims["sub"]?.stringValue)]).status == 0
        )

        // What a row of the noted time holds is never the moved one.
        let noted = "SELECT coalesce(highest_at < now() + interval '1 minute', true) FROM sallyport.clocks"
        #expect(try site.database.sql(noted) == [["t"]])
        #expect(try clients[0].call("PUT", "/test/clock", json: ["now": .integer(start)]).status == 200)
        for number in [Int64.min, -1, 253_402_300_800, .max] {
            #expect(try clients[0].call("PUT", "/test/clock", json: ["now": .integer(number)]).status == 400)
        }
        for number in [Int64.min, .max] {
            let answer = try clients[0].call("POST", "/test/clock/advance", json: ["seconds": .integer(number)])
            #expect(answer.status == 400)
        }
        #expect(try clients[1].call("POST", "/test/reset").status == 204)
    }
}
