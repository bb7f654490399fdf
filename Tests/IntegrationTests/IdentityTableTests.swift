import AuthTesting
import JSON
import Primitives
import Testing

/// The table of contract section 3, row by row, on a server that looks at the tables every second.
@Suite("What a row of the identity store says, over sockets", .blocking)
struct IdentityTableTests {
    /// A verdict as it is answered.
    private struct Verdict {
        let status: Int
        let error: String
        let reason: String
        let action: String

        static func grant(_ reason: String, _ action: String = "lock") -> Verdict {
            Verdict(status: 400, error: "invalid_grant", reason: reason, action: action)
        }

        static let expired = Verdict(
            status: 401, error: "invalid_token", reason: "session_expired", action: "lock")
    }

    private struct Row {
        let name: String
        var lifetime = Duration.days(7)
        /// SQL, with `SID` and `UID` for the ids.
        let change: String
        /// `nil`: it goes on.
        let refresh: Verdict?
        let exchange: Verdict?
        /// Of a check at each mint: no read has to be waited for.
        var isAtOnce = false
    }

    private static let past = "now() - interval '1 minute'"

    private static let rows: [Row] = [
        Row(name: "row there, expiresAt in the future", change: "SELECT 1", refresh: nil, exchange: nil),
        Row(
            name: "slid", lifetime: .seconds(4),
            change: "UPDATE session SET \"expiresAt\" = now() + interval '9 days' WHERE id = 'SID'", refresh: nil,
            exchange: nil),
        Row(
            name: "row there, expiresAt past", lifetime: .seconds(4), change: "SELECT 1", refresh: nil,
            exchange: .expired),
        Row(
            name: "expiresAt moved back into the past",
            change: "UPDATE session SET \"expiresAt\" = \(past) WHERE id = 'SID'", refresh: .grant("session_revoked"),
            exchange: .grant("session_revoked")),
        Row(
            name: "row gone, last known end in the future", change: "DELETE FROM session WHERE id = 'SID'",
            refresh: .grant("session_revoked"), exchange: .grant("session_revoked")),
        Row(
            name: "row gone, last known end past", lifetime: .seconds(4),
            change: "SELECT pg_sleep(5); DELETE FROM session WHERE id = 'SID'", refresh: nil, exchange: .expired),
        Row(
            name: "user row gone", change: "DELETE FROM \"user\" WHERE id = 'UID'",
            refresh: .grant("account_deleted"), exchange: .grant("account_deleted"), isAtOnce: true),
        Row(
            name: "banned without end", change: "UPDATE \"user\" SET banned = true WHERE id = 'UID'",
            refresh: .grant("user_banned"), exchange: .grant("user_banned"), isAtOnce: true),
        Row(
            name: "banned until later",
            change: "UPDATE \"user\" SET banned = true, \"banExpires\" = now() + interval '1 hour' WHERE id = 'UID'",
            refresh: .grant("user_banned"), exchange: .grant("user_banned"), isAtOnce: true),
        Row(
            name: "a ban that is over",
            change: "UPDATE \"user\" SET banned = true, \"banExpires\" = \(past) WHERE id = 'UID'", refresh: nil,
            exchange: nil, isAtOnce: true),
    ]

    @Test("every row of the table: the refresh of its device session, and its own exchange on both routes")
    func table() throws {
        let site = try Site(settings: ["SALLYPORT_IDENTITY_POLL": "1s"])
        let client = try AuthClient(site.serve())
        var signedIn: [(row: Row, session: BetterAuthTables.Session, pair: TokenPair)] = []
        for row in Self.rows {
            let session = try site.tables.session(of: site.tables.user(), lifetime: row.lifetime)
            signedIn.append((row, session, try client.signedIn(session.signed)))
        }
        for (row, session, _) in signedIn {
            let change = row.change.replacing("SID", with: session.id).replacing("UID", with: session.userID)
            try site.database.sql(change)
        }
        for (row, _, pair) in signedIn where row.isAtOnce { try expect(row.refresh, client.refresh(pair.refresh), row) }
        for (row, session, _) in signedIn {
            try expect(row.exchange, client.exchange(session.signed), row)
            let bearer = row.exchange.map {
                Verdict(status: 401, error: "invalid_token", reason: $0.reason, action: $0.action)
            }
            try expect(bearer, client.get("/auth/token", bearer: session.signed), row)
        }
        // Both reads of those that end by them; the rest has been looked at as often by then.
        for (row, _, pair) in signedIn where !row.isAtOnce && row.refresh != nil {
            var token = pair.refresh
            let hasEnded = waitUntil(limit: .seconds(40)) {
                guard let answer = try? client.refresh(token), let next = try? TokenPair(answer) else { return true }
                token = next.refresh
                return false
            }
            #expect(hasEnded, "\(row.name)")
            try expect(row.refresh, client.refresh(token), row)
        }
        for (row, _, pair) in signedIn where row.refresh == nil {
            try expect(row.refresh, client.refresh(pair.refresh), row)
        }
        try expect(
            .grant("session_unknown", "reauth"), client.exchange(site.tables.signed("never-seen-and-not-there")),
            Row(name: "never seen", change: "", refresh: nil, exchange: nil))
    }

    private func expect(_ verdict: Verdict?, _ answer: HTTPAnswer, _ row: Row) throws {
        guard let verdict else {
            #expect(answer.status == 200, "\(row.name): \(answer)")
            return
        }
        #expect(answer.status == verdict.status, "\(row.name): \(answer)")
        #expect(try answer.text("error") == verdict.error, "\(row.name)")
        #expect(try answer.text("error_reason") == verdict.reason, "\(row.name)")
        #expect(try answer.text("client_action") == verdict.action, "\(row.name)")
        #expect((answer.json?["proof"] != nil) == (verdict.action == "lock"), "\(row.name)")
    }

    @Test("an impersonation gets a short access token with act, no device session, and is never fresh")
    func impersonated() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let (admin, user) = (try site.tables.user(), try site.tables.user())
        let phone = try client.signedIn(site.tables.session(of: user).signed)
        let session = try site.tables.session(of: user, impersonatedBy: admin)
        for answer in [
            try client.exchange(session.signed), try client.exchange(session.signed, installation: nil),
            try client.get("/auth/token", bearer: session.signed),
        ] {
            #expect(answer.status == 200, "\(answer)")
            #expect(answer.json?["refresh_token"] == nil && answer.json?["device_id"] == nil)
            #expect((1...300).contains(try answer.integer("expires_in")))
            let claims = try TokenPair.claims(answer.text("access_token"))
            #expect(claims["sub"] == .string(user))
            #expect(claims["act"]?.objectValue?["sub"] == .string(admin))
            let access = try answer.text("access_token")
            for (method, target) in [
                ("DELETE", "/auth/devices/\(phone.deviceID)"), ("POST", "/auth/devices/\(phone.deviceID)/lost"),
                ("DELETE", "/auth/devices?others=true"),
            ] {
                try expectRefusal(
                    client.call(method, target, bearer: access), 401, "insufficient_user_authentication",
                    "step_up_required", "step_up")
            }
        }
        #expect(try client.refreshed(phone.refresh).generation == 2)
    }
}
