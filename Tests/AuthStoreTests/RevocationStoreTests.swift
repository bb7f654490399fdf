import AuthDomain
import AuthTesting
import Crypto
import Postgres
import Primitives
import Testing

@testable import AuthStore

@Suite("Revocations on Postgres")
struct RevocationStoreTests {
    private static let lifetime = Duration.minutes(30)

    /// The feed of a store that holds one signed-in device for each name.
    private func with(
        _ body: @escaping @Sendable (StoreUnderTest, PostgresStore) async throws -> Void
    ) async throws {
        try await StoreUnderTest.with(.postgres) { it in
            try await body(it, try #require(it.store as? PostgresStore))
        }
    }

    private static func read(
        _ feed: PostgresStore, since cursor: String? = nil, at now: Timestamp
    ) async throws -> RevocationPage {
        try await feed.revocations(since: cursor, accessLifetime: lifetime, at: now)
    }

    @Test("every way to end is in it, once, with its reason, device and end")
    func kinds() async throws {
        try await with { it, feed in
            let one = try await it.signedIn()
            let two = try await it.signedIn(installation: "installation-0002")
            let now = it.start + .seconds(1)
            let start = try await Self.read(feed, at: now)
            #expect(start.revocations == [] && !start.isReset)
            _ = try await it.store.endSession(one.session, reason: .signedOut, ifGeneration: nil, at: now)
            _ = try await it.store.endSession(one.session, reason: .signedOut, ifGeneration: nil, at: now)
            for _ in 0..<2 {
                try await it.store.revokeAccessToken(
                    RevokedAccessToken(
                        tokenID: "jti-1", userID: one.user, deviceID: one.device, expiresAt: now + .minutes(7),
                        revokedAt: now))
            }
            _ = try await it.store.revokeDevice(two.device, of: two.user, status: .lost, at: now)
            let page = try await Self.read(feed, since: start.cursor, at: now)
            let end = now + Self.lifetime
            let expected = [
                Revocation(
                    subject: .session(one.session.description), deviceID: one.device, reason: "signed_out",
                    revokedAt: now,
                    expiresAt: end),
                Revocation(
                    subject: .token("jti-1"), deviceID: one.device, reason: "access_revoked", revokedAt: now,
                    expiresAt: now + .minutes(7)),
                Revocation(
                    subject: .session(two.session.description), deviceID: two.device, reason: "device_lost",
                    revokedAt: now, expiresAt: end),
            ]
            #expect(page.revocations.prefix(3) == expected[...])
            // The identity session that the device was used with ends too, under its own sid.
            #expect(page.revocations.map(\.subject).last == .session(two.seen.accessSID))
            #expect(page.revocations.count == 4 && page.revocations.last?.reason == "device_lost")
            #expect(try await Self.read(feed, since: page.cursor, at: now).revocations == [])
            #expect(try await Self.read(feed, at: now).revocations == page.revocations)
        }
    }

    @Test("a transaction that commits late is not missed, and nothing comes twice")
    func lateCommit() async throws {
        try await with { it, feed in
            let (early, late) = (try await it.signedIn(), try await it.signedIn(installation: "installation-0002"))
            let now = it.start + .seconds(1)
            let start = try await Self.read(feed, at: now)
            let end = Statement(
                "test_end",
                "UPDATE sallyport.device_sessions SET ended_at = $2, end_reason = 'signed_out' WHERE id = $1",
                [.uuid, .timestamp])
            let main = feed.databases.current.main
            // Begins first and commits last, around the other's whole life.
            let between = try await main.transaction { transaction async throws(DatabaseError) in
                _ = try await transaction.run(end, [.uuid(late.session), .timestamp(now)])
                do throws(AuthDomain.Unavailability) {
                    _ = try await it.store.endSession(early.session, reason: .signedOut, ifGeneration: nil, at: now)
                    return try await feed.revocations(
                        since: start.cursor, accessLifetime: Self.lifetime, at: now)
                } catch {
                    throw .unavailable(.outcomeUnknown)
                }
            }
            #expect(between.revocations.map(\.subject) == [.session(early.session.description)])
            let after = try await Self.read(feed, since: between.cursor, at: now)
            #expect(after.revocations.map(\.subject) == [.session(late.session.description)])
            #expect(try await Self.read(feed, since: after.cursor, at: now).revocations == [])
        }
    }

    @Test("an entry leaves when the last token of it has expired, and two minutes")
    func leaves() async throws {
        try await with { it, feed in
            let one = try await it.signedIn()
            _ = try await it.store.endSession(one.session, reason: .signedOut, ifGeneration: nil, at: it.start)
            let end = it.start + Self.lifetime + .seconds(120)
            #expect(try await Self.read(feed, at: end - .seconds(1)).revocations.count == 1)
            #expect(try await Self.read(feed, at: end).revocations == [])
        }
    }

    private static let fill = Statement(
        "test_fill",
        """
        INSERT INTO sallyport.revocations (sid, reason, revoked_at)
        SELECT 'sid-' || n, 'signed_out', $1 FROM generate_series(1, $2) n
        """, [.timestamp, .int64])
    private static let count = Statement(
        "test_count", "SELECT count(*) AS rows FROM sallyport.revocations WHERE revoked_at < $1", [.timestamp])

    @Test("whatever ends, a session of a device or without one or a token alone, takes entries that are past with it")
    func cleared() async throws {
        try await with { it, feed in
            let main = feed.databases.current.main
            let past = it.start - .days(700)
            @Sendable func isCleared(_ end: () async throws -> Void) async throws -> Bool {
                _ = try await main.write(Self.fill, [.timestamp(past), .int64(20)])
                try await end()
                return try await main.read(Self.count, [.timestamp(past + .days(1))]).first?.int64("rows") == 0
            }
            let one = try await it.signedIn()
            let two = try await it.signedIn(installation: "installation-0002")
            #expect(
                try await isCleared {
                    try await it.store.revokeAccessToken(
                        RevokedAccessToken(
                            tokenID: "jti-1", userID: one.user, deviceID: nil, expiresAt: it.start + .minutes(7),
                            revokedAt: it.start))
                })
            #expect(
                try await isCleared {
                    try await it.store.endIdentitySession(
                        accessSID: two.seen.accessSID, reason: .signedOut, at: it.start)
                })
            #expect(
                try await isCleared {
                    _ = try await it.store.endSession(one.session, reason: .signedOut, ifGeneration: nil, at: it.start)
                })
            #expect(try await Self.read(feed, at: it.start).revocations.count == 3)
        }
    }

    @Test("a hook whose clock is far ahead takes nothing that a reader asks for")
    func clearedByClocks() async throws {
        try await with { it, feed in
            let main = feed.databases.current.main
            let clock = Statement("test_clock", "SELECT statement_timestamp() AS now")
            let live = try #require(try await main.read(clock).first?.timestamp("now"))
            _ = try await main.write(Self.fill, [.timestamp(live), .int64(3)])
            let one = try await it.signedIn()
            let ahead = live + .days(3_650)
            _ = try await it.store.endSession(one.session, reason: .signedOut, ifGeneration: nil, at: ahead)
            #expect(try await Self.read(feed, at: live).revocations.count == 4)
        }
    }

    @Test("an end of thousands of sessions at once is in time, however much is past")
    func manyAtOnce() async throws {
        try await with { it, feed in
            let main = feed.databases.current.main
            let one = try await it.signedIn()
            let more = Statement(
                "test_more",
                """
                INSERT INTO sallyport.device_sessions (id, user_id, device_id, identity_session_id, client_id, scope,
                    auth_time, amr, created_at, expires_at, sealed_secret, generation, refresh_kid, issued_at,
                    token_expires_at, rotated_at)
                SELECT gen_random_uuid(), user_id, device_id, identity_session_id, client_id, scope, auth_time, amr,
                    created_at, expires_at, sealed_secret, generation, refresh_kid, issued_at, token_expires_at,
                    rotated_at
                FROM sallyport.device_sessions, generate_series(1, $1)
                """, [.int64])
            _ = try await main.write(more, [.int64(6_000)])
            _ = try await main.write(Self.fill, [.timestamp(it.start - .days(700)), .int64(30_000)])
            try await it.store.endAllSessions(of: one.user, reason: .sessionRevoked, at: it.start)
            #expect(try await Self.read(feed, at: it.start).revocations.count == 6_002)
        }
    }

    @Test("a full page is followed by the rest of the same read")
    func pages() async throws {
        try await with { it, feed in
            let count = AuthDomain.Limits.revocationsPerPage + 7
            let start = try await Self.read(feed, at: it.start)
            _ = try await feed.databases.current.main.write(
                Self.fill, [.timestamp(it.start), .int64(Int64(count))])
            for since in [start.cursor, nil] {
                var (cursor, seen) = (since, [Revocation.Subject]())
                for size in [AuthDomain.Limits.revocationsPerPage, 7, 0] {
                    let page = try await Self.read(feed, since: cursor, at: it.start)
                    #expect(page.revocations.count == size && !page.isReset)
                    seen += page.revocations.map(\.subject)
                    cursor = page.cursor
                }
                #expect(Set(seen.map { "\($0)" }).count == count)
            }
        }
    }

    @Test("a cursor that cannot be used gives the whole list, and says so")
    func unusable() async throws {
        try await with { it, feed in
            let one = try await it.signedIn()
            _ = try await it.store.endSession(one.session, reason: .signedOut, ifGeneration: nil, at: it.start)
            let good = try #require(RevocationCursor(try await Self.read(feed, at: it.start).cursor))
            let foreign = RevocationCursor(database: "1-1", seen: good.seen)
            let future = RevocationCursor(
                database: good.database, seen: RevocationCursor.Snapshot("9000000000:9000000001:"))
            let broken = Base64URL.encode(Array("\(good.database)/5:3://0".utf8))
            for cursor in [foreign.text, future.text, broken, "word", "-1", "", String(repeating: "x", count: 300)] {
                let page = try await Self.read(feed, since: cursor, at: it.start)
                #expect(page.isReset && page.revocations.count == 1, "\(cursor)")
            }
        }
    }

    @Test(
        "a snapshot is what Postgres would take, and nothing else",
        arguments: [
            ("10:20:", true), ("10:20:10,14,19", true), ("10:10:", true), ("0:20:", false), ("20:10:", false),
            ("10:20:20", false), ("10:20:14,12", false), ("10:20:9", false), ("10:20", false), ("10:20:,", false),
            ("+10:20:", false), ("10:20:1x", false), ("10: 20:", false), ("", false),
            ("10:99999999999999999999:", false),
        ])
    func snapshots(text: String, isValid: Bool) {
        #expect((RevocationCursor.Snapshot(text) != nil) == isValid)
        guard let snapshot = RevocationCursor.Snapshot(text) else { return }
        let cursor = RevocationCursor(database: "7-1", seen: nil, reading: snapshot, lastID: 5)
        #expect(RevocationCursor(cursor.text) == cursor)
    }
}
