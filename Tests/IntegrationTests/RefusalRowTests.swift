import AuthTesting
import JSON
import Primitives
import Testing

/// The table of contract section 5, row by row, as a client meets it.
@Suite("What a refusal says, over sockets", .blocking)
struct RefusalRowTests {
    /// What came back for a credential, which a proof has to name.
    private typealias Refused = (answer: HTTPAnswer, presented: String)

    private struct Row: Sendable {
        let status: Int
        let error: String
        let reason: String
        let careful: String
        var strict: String?
        let provoke: @Sendable (Bench) throws -> Refused

        init(
            _ status: Int, _ error: String, _ reason: String, _ careful: String, strict: String? = nil,
            _ provoke: @escaping @Sendable (Bench) throws -> Refused
        ) {
            self.status = status
            self.error = error
            self.reason = reason
            self.careful = careful
            self.strict = strict
            self.provoke = provoke
        }
    }

    /// A server, one that denies the unverified, and what most rows begin with.
    private struct Bench {
        let site: Site
        let client: AuthClient
        let denying: AuthClient
        var key: JSONValue?

        func signIn(lifetime: Duration = .days(7), age: Duration = .zero) throws -> TokenPair {
            try client.signedIn(site.tables.session(of: site.tables.user(), lifetime: lifetime, age: age).signed)
        }

        /// A pair, and another of the same user on another device.
        func signInTwice() throws -> (TokenPair, other: TokenPair) {
            let user = try site.tables.user()
            return (
                try client.signedIn(site.tables.session(of: user).signed),
                try client.signedIn(site.tables.session(of: user).signed, installation: "installation-0002")
            )
        }

        func refresh(_ pair: TokenPair, key: String? = nil) throws -> Refused {
            (try client.refresh(pair.refresh, key: key), pair.refresh)
        }

        /// Three rotations on, each with a key; the first was `key(1)`.
        func rotated() throws -> TokenPair {
            let first = try signIn()
            var pair = first
            for number in 1...3 { pair = try client.refreshed(pair.refresh, key: Self.key(number)) }
            return first
        }

        static func key(_ number: Int) -> String { "idempotency-key-\(number)" }

        func sql(_ text: String, _ pair: TokenPair) throws {
            try site.database.sql(
                text.replacing("SID", with: pair.sid).replacing("DID", with: pair.deviceID)
                    .replacing("UID", with: pair.accessClaims["sub"]?.stringValue ?? ""))
        }

        func exchange(_ token: String, installation: String? = "installation-0001") throws -> Refused {
            (try client.exchange(token, installation: installation), token)
        }

        func bearer(_ token: String) throws -> Refused { (try client.get("/auth/token", bearer: token), token) }
    }

    private static let ended: [Row] = [
        Row(400, "invalid_grant", "refresh_expired", "lock") { bench in
            let pair = try bench.signIn()
            try bench.sql("UPDATE sallyport.device_sessions SET expires_at = '2026-01-01Z' WHERE id = 'SID'", pair)
            return try bench.refresh(pair)
        },
        Row(401, "invalid_token", "session_expired", "lock") { bench in
            let tables = bench.site.tables
            return try bench.exchange(tables.session(of: tables.user(), lifetime: .seconds(-5)).signed)
        },
        Row(400, "invalid_grant", "refresh_reused", "lock") { bench in
            try bench.refresh(bench.rotated(), key: Bench.key(9))
        },
        Row(400, "invalid_grant", "signed_out", "lock", strict: "wipe") { bench in
            let pair = try bench.signIn()
            #expect(try bench.client.call("POST", "/auth/sign-out", bearer: pair.access).status == 204)
            return try bench.refresh(pair)
        },
        Row(400, "invalid_grant", "session_revoked", "lock", strict: "wipe") { bench in
            let (pair, other) = try bench.signInTwice()
            let answer = try bench.client.call(
                "POST", "/auth/sign-out", bearer: other.access, json: ["everywhere": true])
            #expect(answer.status == 204)
            return try bench.refresh(pair)
        },
        Row(400, "invalid_grant", "superseded", "lock") { bench in
            let session = try bench.site.tables.signIn()
            let first = try bench.client.signedIn(session.signed)
            for _ in 0..<10 { _ = try bench.client.signedIn(session.signed) }
            return try bench.refresh(first)
        },
        Row(400, "invalid_grant", "device_revoked", "wipe") { bench in
            let pair = try bench.signIn()
            #expect(
                try bench.client.call("DELETE", "/auth/devices/\(pair.deviceID)", bearer: pair.access).status == 204)
            return try bench.refresh(pair)
        },
        Row(400, "invalid_grant", "device_lost", "wipe") { bench in
            let (pair, other) = try bench.signInTwice()
            let target = "/auth/devices/\(pair.deviceID)/lost"
            #expect(try bench.client.call("POST", target, bearer: other.access).status == 204)
            return try bench.refresh(pair)
        },
        Row(400, "invalid_grant", "wipe_ordered", "wipe") { bench in
            let pair = try bench.signIn()
            #expect(try bench.site.run(["devices", "wipe", pair.deviceID]).status == 0)
            return try bench.refresh(pair)
        },
        Row(400, "invalid_grant", "device_revoked", "lock") { bench in
            let (pair, other) = try bench.signInTwice()
            let target = "/auth/devices/\(pair.deviceID)"
            #expect(try bench.client.call("DELETE", target, bearer: other.access).status == 204)
            let user = try #require(try pair.accessClaims["sub"]?.stringValue)
            // Made after the revocation for certain: the two clocks may be some milliseconds apart.
            let later = try bench.site.tables.session(of: user, age: .seconds(-1))
            _ = try bench.client.signedIn(later.signed)
            return try bench.refresh(pair)
        },
        Row(400, "invalid_grant", "account_deleted", "lock", strict: "wipe") { bench in
            let pair = try bench.signIn()
            try bench.sql("DELETE FROM \"user\" WHERE id = 'UID'", pair)
            return try bench.refresh(pair)
        },
        Row(400, "invalid_grant", "user_banned", "lock") { bench in
            let pair = try bench.signIn()
            try bench.sql("UPDATE \"user\" SET banned = true WHERE id = 'UID'", pair)
            return try bench.refresh(pair)
        },
        Row(400, "invalid_grant", "device_suspended", "lock") { bench in
            let pair = try bench.signIn()
            #expect(try bench.site.run(["devices", "suspend", pair.deviceID]).status == 0)
            return try bench.refresh(pair)
        },
    ]

    private static let refused: [Row] = [
        Row(400, "invalid_grant", "token_malformed", "reauth") { bench in
            (try bench.client.refresh("not-a-token"), "not-a-token")
        },
        Row(400, "invalid_grant", "token_foreign", "reauth") { bench in
            try bench.exchange("somebody-elses-token.jnj0drBzy9j6Ks+zss+jprL7AAig651Y+JT0M2rUdmo=")
        },
        Row(400, "invalid_grant", "session_unknown", "reauth") { bench in
            try bench.exchange(bench.site.tables.signed("never-seen-and-not-there"))
        },
        Row(400, "invalid_grant", "session_unknown", "reauth") { bench in
            let pair = try bench.signIn()
            try bench.sql("DELETE FROM sallyport.device_sessions WHERE id = 'SID'", pair)
            return try bench.refresh(pair)
        },
        Row(400, "invalid_grant", "refresh_stale", "refresh") { bench in
            try bench.refresh(bench.rotated(), key: Bench.key(1))
        },
        Row(403, "access_denied", "identity_unverified", "verify") { bench in
            let session = try bench.site.tables.signIn(isVerified: false)
            return (try bench.denying.exchange(session.signed), session.signed)
        },
        Row(401, "insufficient_user_authentication", "step_up_required", "step_up") { bench in
            let pair = try bench.signIn(age: .minutes(6))
            return (try bench.client.call("DELETE", "/auth/devices?others=true", bearer: pair.access), pair.access)
        },
        Row(401, "invalid_token", "access_revoked", "refresh") { bench in
            let pair = try bench.signIn()
            #expect(try bench.client.call("POST", "/auth/sign-out", bearer: pair.access).status == 204)
            return (try bench.client.get("/auth/session", bearer: pair.access), pair.access)
        },
        Row(401, "invalid_token", "token_malformed", "reauth") { bench in
            (try bench.client.get("/auth/session", bearer: "not-a-token"), "not-a-token")
        },
        Row(401, "invalid_token", "token_missing", "reauth") { (try $0.client.get("/auth/session"), "") },
        Row(400, "invalid_request", "request_malformed", "none") { (try $0.client.token([]), "") },
        Row(400, "invalid_request", "request_malformed", "none") { bench in
            let twice = [("grant_type", "refresh_token"), ("refresh_token", "a"), ("refresh_token", "a")]
            return (try bench.client.token(twice), "")
        },
        Row(400, "unsupported_grant_type", "grant_unsupported", "none") { bench in
            (try bench.client.token([("grant_type", "password")]), "")
        },
        Row(400, "invalid_scope", "scope_invalid", "none") { bench in
            let pair = try bench.signIn()
            let form = [("grant_type", "refresh_token"), ("refresh_token", pair.refresh), ("scope", "everything")]
            return (try bench.client.token(form), pair.refresh)
        },
        Row(400, "invalid_request", "device_malformed", "none") { bench in
            try bench.exchange(bench.site.tables.signIn().signed, installation: "short")
        },
    ]

    /// A refusal of a session token says the same on both routes, as a bad token where it stands as Bearer.
    private static let asBearer: [Row] = [
        Row(401, "invalid_token", "session_expired", "lock") { bench in
            let tables = bench.site.tables
            return try bench.bearer(tables.session(of: tables.user(), lifetime: .seconds(-5)).signed)
        },
        Row(401, "invalid_token", "session_unknown", "reauth") { bench in
            try bench.bearer(bench.site.tables.signed("never-seen-and-not-there"))
        },
        Row(401, "invalid_token", "device_revoked", "wipe") { bench in
            let session = try bench.site.tables.signIn()
            let pair = try bench.client.signedIn(session.signed)
            #expect(
                try bench.client.call("DELETE", "/auth/devices/\(pair.deviceID)", bearer: pair.access).status == 204)
            return try bench.bearer(session.signed)
        },
        Row(401, "invalid_token", "signed_out", "lock", strict: "wipe") { bench in
            let session = try bench.site.tables.signIn()
            let access = try bench.client.exchange(session.signed, installation: nil).text("access_token")
            #expect(try bench.client.call("POST", "/auth/sign-out", bearer: access).status == 204)
            return try bench.bearer(session.signed)
        },
        Row(401, "invalid_token", "user_banned", "lock") { bench in
            let session = try bench.site.tables.signIn()
            try bench.site.database.sql("UPDATE \"user\" SET banned = true WHERE id = '\(session.userID)'")
            return try bench.bearer(session.signed)
        },
        Row(401, "invalid_token", "token_foreign", "reauth") { bench in
            try bench.bearer("somebody-elses-token.jnj0drBzy9j6Ks+zss+jprL7AAig651Y+JT0M2rUdmo=")
        },
    ]

    @Test("every row that a request can meet, under both policies", arguments: ["careful", "strict"])
    func table(policy: String) throws {
        let site = try Site(settings: ["SALLYPORT_VERDICT_POLICY": policy])
        var bench = Bench(
            site: site, client: try AuthClient(site.serve()),
            denying: try AuthClient(site.serve(settings: ["SALLYPORT_VERIFIED_GATE": "deny"])), key: nil)
        bench.key = try bench.signIn().answer.json?["verdict_key"]
        for row in Self.ended + Self.refused + Self.asBearer {
            let (answer, presented) = try row.provoke(bench)
            let action = policy == "strict" ? row.strict ?? row.careful : row.careful
            try expectRefusal(answer, row.status, row.error, row.reason, action)
            if action == "lock" || action == "wipe" {
                try expectProof(of: answer, presented: presented, storedKey: bench.key)
            } else {
                #expect(answer.json?["proof"] == nil, "\(row.reason)")
            }
            #expect(presented.isEmpty || !answer.text.contains(presented), "\(row.reason) repeats the credential")
            #expect(answer.field("retry-after") == nil && answer.json?["retry_after"] == nil)
            try expectChallenge(answer, row)
        }
    }

    /// RFC 6750 §3, RFC 9470 §3: what the body says, but for a request that brought nothing.
    private func expectChallenge(_ answer: HTTPAnswer, _ row: Row) throws {
        let challenge = answer.field("www-authenticate")
        guard row.status == 401 else {
            #expect(challenge == nil, "\(row.reason)")
            return
        }
        let text = try #require(challenge)
        #expect(text.hasPrefix("Bearer realm=\"sallyport\""))
        #expect(text.contains("error=\"\(row.error)\"") == (row.reason != "token_missing"), "\(text)")
        #expect(text.contains("max_age=\"300\"") == (row.reason == "step_up_required"), "\(text)")
    }

    @Test("too many requests of a device session are rate_limited, 429 with Retry-After, and change nothing")
    func rateLimited() throws {
        let site = try Site(settings: ["SALLYPORT_RATE_LIMIT": "session=10"])
        let client = try AuthClient(site.serve())
        var pair = try client.signedIn(site.tables.signIn().signed)
        var answer = try client.refresh(pair.refresh)
        while answer.status == 200, try TokenPair(answer).generation ?? 0 < 40 {
            pair = try TokenPair(answer)
            answer = try client.refresh(pair.refresh)
        }
        try expectRefusal(answer, 429, "slow_down", "rate_limited", "retry")
        #expect(try answer.field("retry-after") == String(answer.integer("retry_after")))
        #expect(answer.json?["proof"] == nil && answer.field("www-authenticate") == nil)
        // Nothing moved: another server's throttle knows nothing of it.
        let next = try AuthClient(site.serve()).refreshed(pair.refresh)
        #expect(try next.generation == (pair.generation ?? 0) + 1)
    }

    @Test("an access token past its end is access_expired, and asks for a refresh")
    func accessExpired() throws {
        let site = try Site(settings: ["SALLYPORT_ISSUER": "http://127.0.0.1:8080"])
        let client = try AuthClient(site.serve(["--test-target"]))
        let pair = try client.signedIn(site.tables.signIn().signed)
        _ = try client.call("POST", "/test/clock/advance", json: ["seconds": 1_900])
        let answer = try client.get("/auth/devices", bearer: pair.access)
        try expectRefusal(answer, 401, "invalid_token", "access_expired", "refresh")
        #expect(answer.field("www-authenticate")?.contains("error=\"invalid_token\"") ?? false)
        #expect(try client.get("/auth/devices", bearer: client.refreshed(pair.refresh).access).status == 200)
    }
}
