import AuthDomain
import AuthStore
import AuthTesting
import Crypto
import Postgres
import Primitives
import Telemetry
import Testing

/// Rows of somebody else's tables hold what their application wrote: one odd value concerns its own row alone.
@Suite("Odd rows of the identity store", .serialized)
struct OddIdentityRowTests {
    private static let now = Timestamp(secondsSinceEpoch: 1_790_000_000)

    private func column(_ name: String, _ preset: IdentityMapping.Preset) -> String {
        let snake = ["expiresAt": "expires_at", "createdAt": "created_at", "banExpires": "ban_expires"]
        return preset == .drizzle ? snake[name] ?? name : "\"\(name)\""
    }

    private func linked(_ row: BetterAuthTables.Session) -> LinkedSession {
        LinkedSession(id: row.id, userID: row.userID, expiresAt: Self.now + .days(7), doubt: nil)
    }

    @Test(
        "whatever a time says, the other rows of the batch are read",
        arguments: IdentityMapping.Preset.allCases,
        ["infinity", "-infinity", "294276-12-31 23:59:59.999999", "4714-11-24 00:00:00 BC", "9999-12-31", "0001-01-01"])
    func times(preset: IdentityMapping.Preset, value: String) async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database(), preset: preset)
        let rows = try (0..<3).map { _ in try tables.session(of: tables.user(), at: Self.now) }
        try tables.database.sql(
            "UPDATE session SET \(column("expiresAt", preset)) = '\(value)', \(column("createdAt", preset)) = '\(value)' "
                + "WHERE id = '\(rows[1].id)'")
        let isAhead = value != "-infinity" && !value.hasSuffix("BC") && !value.hasPrefix("0001")
        for zone in ["UTC", "Pacific/Kiritimati", "<-12:00>+12:00"] {
            let mapping = try IdentityMapping(preset: preset, naiveTimeZone: zone)
            try await withStore(tables, mapping: mapping) { store, _ in
                let found = try await store.sightings(of: rows.map(linked))
                #expect(found.allSatisfy { $0.isReadable && $0.isUserThere && $0.expiresAt != nil })
                #expect(found[1].expiresAt.map { $0 > Self.now + .days(100 * 365) } == isAhead, "\(zone)")
                let view = try await store.exchangeView(token: Secret(rows[1].token), tokenHash: [1])
                #expect(view.session?.id == rows[1].id)
            }
        }
    }

    @Test(
        "a ban without an end in sight is a ban, one that ended before all time is none",
        arguments: IdentityMapping.Preset.allCases)
    func bans(preset: IdentityMapping.Preset) async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database(), preset: preset)
        let userID = try tables.user(isBanned: true)
        try await withStore(tables) { store, _ in
            for (value, isBanned) in [("infinity", true), ("-infinity", false), ("294000-01-01", true)] {
                try tables.database.sql("UPDATE \"user\" SET \(column("banExpires", preset)) = '\(value)'")
                #expect(try await store.user(userID)?.isBanned(at: Self.now) == isBanned, "\(value)")
            }
        }
    }

    @Test(
        "an id that the column cannot hold, and a row without a time, are no verdict on their session and on no other",
        arguments: [BetterAuthTables.IDType.integer, .bigint, .uuid])
    func ids(type: BetterAuthTables.IDType) async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database(), ids: type)
        let row = try tables.session(of: tables.user(), at: Self.now)
        let gone = try tables.session(of: row.userID, at: Self.now)
        let empty = try tables.session(of: row.userID, at: Self.now)
        try tables.database.sql(
            "ALTER TABLE session ALTER \"expiresAt\" DROP NOT NULL; UPDATE session SET \"expiresAt\" = NULL "
                + "WHERE id::text = '\(empty.id)'")
        try tables.removeSession(gone)
        try await withStore(tables) { store, _ in
            for odd in ["abc", "", "1e3", "99999999999999999999999", "1 OR 1=1", "\u{661}"] {
                let sessions = [
                    LinkedSession(id: odd, userID: row.userID, expiresAt: Self.now, doubt: nil), linked(row),
                    linked(gone),
                    LinkedSession(id: row.id, userID: odd, expiresAt: Self.now, doubt: nil), linked(empty),
                ]
                let found = try await store.sightings(of: sessions)
                #expect(found.map(\.isReadable) == [false, true, true, false, false], "\(odd)")
                #expect(found[1].expiresAt == Self.now + .days(7))
                #expect(found[2] == SessionSighting(expiresAt: nil, isUserThere: true))
                await #expect(throws: AuthDomain.Unavailability.misconfigured) { try await store.user(odd) }
            }
            await #expect(throws: AuthDomain.Unavailability.misconfigured) {
                try await store.exchangeView(token: Secret(empty.token), tokenHash: [1])
            }
        }
    }

    @Test("a random sample holds each linked user once in a while, some sessions of each, and nobody who is not linked")
    func sample() async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database())
        try await withStore(tables) { store, pair in
            try tables.database.sql(
                """
                INSERT INTO sallyport.identity_sessions (id, user_id, token_hash, access_sid, expires_at, first_seen_at,
                    last_seen_at, ended_at, end_reason)
                SELECT 's' || n, 'u' || n / 20, '', 'a' || n, '2030-01-01Z'::timestamptz - CASE WHEN n >= 1800 THEN
                    interval '10 years' ELSE interval '0' END, now(), now(),
                    CASE WHEN n < 200 THEN now() END, CASE WHEN n < 200 THEN 'signed_out' END
                FROM generate_series(0, 1999) n
                """)
            var seen: Set<String> = []
            for _ in 0..<40 {
                let sample = try await store.linkedSample(users: 10, at: Self.now)
                let users = sample.map(\.userID)
                #expect(Set(users).count == 10)
                #expect(sample.count == 100)
                seen.formUnion(users)
            }
            // u0 to u9 have signed out, u90 to u99 have run out and hold nothing.
            #expect(seen.isSubset(of: Set((10..<90).map { "u\($0)" })))
            #expect(seen.count > 60)
            #expect(Set(try await store.linkedSample(users: 500, at: Self.now).map(\.userID)).count == 80)
        }
    }

    @Test("row-level security and views are told by the catalog; where all rows are hidden, none missing says anything")
    func hidden() async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database())
        let row = try tables.session(of: tables.user(), at: Self.now)
        try tables.grantReading(to: "hidden_reader")
        try await onLoop(tables.database, identityRole: "hidden_reader") { main, identity in
            _ = try await MigrationRunner(migrations: Migrations.all).apply(on: main, clock: TestClock())
            let mapping = try IdentityMapping(preset: .kysely)
            func visibility() async throws -> [IdentityVisibility] {
                try await IdentityVisibility.read(mapping, from: identity)
            }
            func store() async throws -> PostgresStore {
                PostgresStore(
                    databases: LoopDatabases([LoopDatabases.Pair(main: main, identity: identity)]), mapping: mapping,
                    catalog: try await IdentityCatalog.read(mapping, from: identity), keys: FixedKeyring(),
                    sealing: FixedKeys.sealing(), random: SystemRandom(), logger: .disabled)
            }
            #expect(try await visibility().allSatisfy { $0.warning == nil && !$0.isView })
            #expect(try await !store().isHidingRows())

            try tables.database.sql("ALTER TABLE session ENABLE ROW LEVEL SECURITY; ANALYZE session")
            #expect(try await visibility().map { $0.warning != nil } == [true, false])
            #expect(try await store().isHidingRows())
            let check = AbsenceCheck(try await store(), vanishedPercentMax: 20)
            #expect(try await !check.isCredible(at: Self.now))
            try tables.database.sql("CREATE POLICY all_rows ON session FOR SELECT TO hidden_reader USING (true)")
            #expect(try await !store().isHidingRows())
            try tables.database.sql("DROP POLICY all_rows ON session; ALTER ROLE hidden_reader BYPASSRLS")
            #expect(try await visibility().allSatisfy { $0.warning == nil })
            try tables.database.sql(
                "ALTER ROLE hidden_reader NOBYPASSRLS; ALTER TABLE session DISABLE ROW LEVEL SECURITY")

            try tables.database.sql(
                "ALTER TABLE session RENAME TO stored; CREATE VIEW session AS SELECT * FROM stored WHERE id <> '\(row.id)'; "
                    + "GRANT SELECT ON session TO hidden_reader")
            #expect(try await visibility().map { $0.warning != nil && $0.isView } == [true, false])
            #expect(try await store().isHidingRows())
            try tables.database.sql("TRUNCATE stored")
            #expect(try await !store().isHidingRows())
        }
    }

    @Test(
        "a zone that PostgreSQL does not know is told before it is used",
        arguments: [
            ("UTC", true), ("Asia/Kolkata", true), ("asia/kolkata", true), ("<+09:00>-09:00", true),
            ("Mars/Olympus", false),
            ("Foo5", false), ("", false),
        ])
    func zones(zone: String, isKnown: Bool) async throws {
        try await onLoop(ScratchCluster.shared.database()) { main, _ in
            let mapping = try IdentityMapping(preset: .drizzle, naiveTimeZone: zone)
            #expect(try await mapping.isTimeZoneKnown(to: main) == isKnown)
        }
    }
}
