import AuthTesting
import Foundation
import EmbeddedPostgres
import Testing

@Suite("Failover", .blocking)
struct FailoverTests {
    @Test("the primary dies and its standby is promoted: the server goes on there, and no session is lost")
    func promotion() throws {
        let primary = try ScratchCluster.own()
        let site = try Site(in: primary)
        let standby = try ScratchStandby(of: primary)
        let url = "postgresql://postgres@127.0.0.1:\(primary.port),127.0.0.1:\(standby.port)/\(site.database.name)"
        let server = try site.serve([], settings: ["SALLYPORT_DATABASE_URL": url])
        let client = try AuthClient(server)
        let first = try client.signedIn(site.tables.signIn().signed)
        let second = try client.refreshed(first.refresh)
        #expect(waitUntil(limit: .seconds(20)) { (try? standby.hasCaughtUp(with: primary)) ?? false })

        primary.stop(.immediate)
        let during = try client.refresh(second.refresh)
        try expectUnavailable(during, among: ["dependency", "busy", "starting"])
        #expect(try client.get("/.well-known/jwks.json").status == 200)
        // A standby that only reads is no database to serve from.
        #expect(try client.get("/readyz").status == 503)

        try standby.promote()
        var third: TokenPair?
        let isBack = waitUntil(limit: .seconds(10)) {
            third = (try? client.refresh(second.refresh)).flatMap { try? TokenPair($0) }
            return third != nil
        }
        #expect(isBack)
        #expect(try third?.generation == 3)
        #expect(try client.get("/readyz").status == 200)
    }

    @Test("a restored backup is behind its tokens: the chain catches up, and says so in the audit log")
    func restored() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        var pair = try client.signedIn(site.tables.signIn().signed)
        for _ in 0..<3 { pair = try client.refreshed(pair.refresh) }
        // As a backup of two rotations ago has it.
        try site.database.sql(
            """
            UPDATE sallyport.device_sessions SET generation = generation - 2, rotation_keys = '{}'
            """)
        let next = try client.refreshed(pair.refresh)
        #expect(try next.generation == 5)
        #expect(
            try site.database.sql(
                "SELECT event, reason FROM sallyport.audit_events WHERE event = 'generation_restored'")
                == [["generation_restored", "2 to 5"]])
        #expect(try client.refreshed(next.refresh).generation == 6)
    }
}
