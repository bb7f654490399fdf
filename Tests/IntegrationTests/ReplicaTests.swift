import AuthTesting
import JSON
import Primitives
import Testing

@Suite("A replica that is behind gives no verdict, over sockets", .blocking)
struct ReplicaTests {
    @Test("with several hosts the primary is read; a replica by name shows life and no end")
    func behind() throws {
        let primary = try ScratchCluster.own()
        let site = try Site(in: primary, settings: ["SALLYPORT_IDENTITY_POLL": "1s"])
        let standby = try ScratchStandby(of: primary)
        let known = try site.tables.session(of: site.tables.user(), lifetime: .seconds(20))
        let banned = try site.tables.signIn()
        try site.database.sql("UPDATE \"user\" SET banned = true WHERE id = '\(banned.userID)'")
        #expect(waitUntil(limit: .seconds(20)) { (try? standby.hasCaughtUp(with: primary)) ?? false })
        try standby.sql("SELECT pg_wal_replay_pause()")
        #expect(
            waitUntil(limit: .seconds(20)) {
                (try? standby.sql("SELECT pg_get_wal_replay_pause_state()")) == [["paused"]]
            })

        // From now on the standby shows old rows: no `fresh`, `known` before it slid, the ban that was lifted.
        let fresh = try site.tables.signIn()
        try site.database.sql("UPDATE \"user\" SET banned = false WHERE id = '\(banned.userID)'")
        let hosts = "127.0.0.1:\(standby.port),127.0.0.1:\(primary.port)/\(site.database.name)"
        func server(_ query: String) throws -> AuthClient {
            let url = "postgresql://postgres@\(hosts)\(query)"
            return try AuthClient(site.serve(settings: ["SALLYPORT_IDENTITY_DATABASE_URL": url]))
        }

        let right = try server("")
        let pairs = try [fresh, known, banned].map { try right.signedIn($0.signed) }
        try site.database.sql(
            "UPDATE session SET \"expiresAt\" = now() + interval '9 days' WHERE id = '\(known.id)'")
        #expect(try right.exchange(known.signed).status == 200)
        let revoked = try site.tables.signIn()
        let ended = try right.signedIn(revoked.signed)
        try site.tables.removeSession(revoked)
        try expectRefusal(right.exchange(revoked.signed), 400, "invalid_grant", "session_revoked", "lock")
        try right.server.stop()

        let lagging = try server("?target_session_attrs=any")
        for session in [fresh, banned, revoked] {
            try expectUnavailable(lagging.exchange(session.signed), among: ["dependency"])
        }
        // Of a user whom it has, a session that it has, there is an answer, as long as it shows it as live.
        #expect(
            waitUntil(limit: .seconds(60)) {
                (try? lagging.exchange(known.signed, installation: nil).status) != 200
            })
        try expectUnavailable(lagging.exchange(known.signed), among: ["dependency"])
        // Some looks of the watch, with the time that a second read waits.
        #expect(!waitUntil(limit: .seconds(9)) { Self.hasEnded(site) })
        for (index, pair) in pairs.enumerated() {
            let answer = try lagging.refresh(pair.refresh)
            if index == 2 {
                try expectUnavailable(answer, among: ["dependency"])
            } else {
                #expect(answer.status == 200, "\(answer)")
            }
        }
        #expect(try lagging.refresh(ended.refresh).status == 200)

        try standby.sql("SELECT pg_wal_replay_resume()")
        #expect(waitUntil(limit: .seconds(20)) { (try? lagging.exchange(fresh.signed).status) == 200 })
        #expect(try lagging.exchange(known.signed).status == 200)
        // The primary's own word ends what has ended.
        try lagging.server.stop()
        let again = try server("")
        #expect(waitUntil(limit: .seconds(40)) { Self.hasEnded(site) })
        try expectRefusal(again.refresh(ended.refresh), 400, "invalid_grant", "session_revoked", "lock")
    }

    private static func hasEnded(_ site: Site) -> Bool {
        let rows = try? site.database.sql(
            "SELECT count(*) FROM sallyport.device_sessions WHERE ended_at IS NOT NULL")
        return rows != [["0"]]
    }
}
