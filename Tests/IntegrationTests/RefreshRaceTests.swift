import AuthTesting
import JSON
import Testing

@Suite("Racing refreshes, over sockets", .blocking)
struct RefreshRaceTests {
    private let count = 64

    @Test(
        "64 refreshes at once with one token are 64 × 200 with one refresh token of one generation",
        arguments: [1, 2], [nil, "a-key-beside-the-token-0001"])
    func race(servers: Int, key: String?) throws {
        let site = try Site()
        let clients = try (0..<servers).map { _ in try AuthClient(site.serve()) }
        let pair = try clients[0].signedIn(site.tables.signIn().signed)
        let answers = try HTTPClient.together(count) { index in
            try clients[index % servers].refresh(pair.refresh, key: key)
        }
        #expect(answers.count == count)
        #expect(answers.allSatisfy { $0.status == 200 }, "\(answers.first { $0.status != 200 }?.text ?? "")")
        let pairs = try answers.map { try TokenPair($0) }
        #expect(Set(pairs.map(\.refresh)).count == 1)
        #expect(Set(pairs.map(\.access)).count == count)
        #expect(try pairs[0].generation == 2)
        #expect(try site.database.sql("SELECT generation FROM sallyport.device_sessions") == [["2"]])
        #expect(try clients[0].refreshed(pairs[0].refresh).generation == 3)
    }

    @Test("what one server has rotated, another answers with the same successor, byte for byte")
    func lostAnswer() throws {
        let site = try Site()
        let (first, second) = (try AuthClient(site.serve()), try AuthClient(site.serve()))
        let pair = try first.signedIn(site.tables.signIn().signed)
        let successor = try first.refreshed(pair.refresh, key: "a-key-beside-the-token-0001")
        let again = try second.refreshed(pair.refresh, key: "a-key-beside-the-token-0001")
        #expect(again.refresh == successor.refresh)
        #expect(again.access != successor.access)
    }

    @Test("the third replay of a device session in a row is a line of the log and an audit event, with its sid")
    func replays() throws {
        let site = try Site()
        let server = try site.serve()
        let client = try AuthClient(server)
        let pair = try client.signedIn(site.tables.signIn().signed)
        _ = try client.refreshed(pair.refresh)
        func events() throws -> [[String]] {
            try site.database.sql(
                "SELECT device_session_id, device_id, reason FROM sallyport.audit_events WHERE event = 'refresh_replayed'"
            )
        }
        func lines() -> Int {
            server.log.split(separator: "\n").filter { $0.contains("in a row") && $0.contains(pair.sid) }.count
        }
        for count in 1...5 {
            _ = try client.refreshed(pair.refresh)
            #expect(try events() == (count < 3 ? [] : [[pair.sid, pair.deviceID, "keyless"]]))
        }
        waitUntil(limit: .seconds(10)) { lines() > 0 }
        #expect(lines() == 1)
    }

    @Test("a thief's replay after the windows ends this device session only, on every server, with a proof")
    func reuse() throws {
        let site = try Site(settings: ["SALLYPORT_CONCURRENCY_WINDOW": "0s", "SALLYPORT_REPLAY_WINDOW": "0s"])
        let (first, second) = (try AuthClient(site.serve()), try AuthClient(site.serve()))
        let user = try site.tables.user()
        let pair = try first.signedIn(site.tables.session(of: user).signed)
        let other = try first.signedIn(site.tables.session(of: user).signed, installation: "installation-0002")
        let next = try first.refreshed(pair.refresh)
        let replayed = try second.refresh(pair.refresh)
        try expectRefusal(replayed, 400, "invalid_grant", "refresh_reused", "lock")
        try expectProof(of: replayed, presented: pair.refresh, storedKey: pair.answer.json?["verdict_key"])
        try expectRefusal(first.refresh(next.refresh), 400, "invalid_grant", "refresh_reused", "lock")
        #expect(try first.get("/auth/devices", bearer: next.access).status == 401)
        #expect(try first.refreshed(other.refresh).generation == 2)
    }
}
