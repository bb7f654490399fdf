import AuthDomain
import AuthStore
import AuthTesting
import Postgres
import Primitives
import Telemetry
import Testing

/// The watch over real tables, as the row of contract section 3 says it.
@Suite("Identity watch on Postgres", .serialized)
struct IdentityWatchStoreTests {
    private static let start = Timestamp(secondsSinceEpoch: 1_790_000_000)

    /// Signed-in users in the tables of a preset, a store on them and a watch.
    private struct Bench: Sendable {
        let tables: BetterAuthTables
        let store: PostgresStore
        let clock: TestClock
        let watch: IdentityWatch

        /// A user with a session in the tables, exchanged on a device. Returns the row, and the device session.
        func signIn(lifetime: Duration = .days(7)) async throws -> (row: BetterAuthTables.Session, id: UUID) {
            let row = try tables.session(of: tables.user(), lifetime: lifetime, at: clock.now())
            let hash = Array(row.token.utf8)
            let view = try await store.exchangeView(token: Secret(row.token), tokenHash: hash)
            let session = try #require(view.session)
            let id = UUID(random: SystemRandomBytes())
            let now = clock.now()
            let outcome = try await store.register(
                Registration(
                    seen: SeenSession(
                        session: session, tokenHash: hash, accessSID: "s_\(session.id)", seenAt: now),
                    deviceID: UUID(random: SystemRandomBytes()),
                    metadata: try DeviceMetadata(
                        installationID: "installation-0000-\(row.userID)", platform: "ios", name: nil, model: nil,
                        osVersion: nil, appVersion: nil),
                    push: nil, reactivates: false, devicesMax: nil,
                    deviceSession: DeviceSessionStart(
                        id: id, clientID: "app", scopes: ScopeSet(["api"]), authTime: now, amr: ["session"],
                        isVerified: true, expiresAt: now + .days(90),
                        issued: IssuedRefresh.make(
                            generation: 1, kid: FixedKeys.keyring.refresh.kid, lifetime: .days(30),
                            sessionEnd: now + .days(90), at: now),
                        sealedSecret: [1])))
            try #require(outcome == .registered)
            return (row, id)
        }

        @discardableResult
        func lookTwice() async throws -> IdentityWatch.Outcome {
            clock.advance(by: .seconds(15))
            let first = try await watch.look(every: .seconds(15))
            guard case .inDoubt(let census) = first else { return first }
            clock.advance(by: .seconds(5))
            return try await watch.confirm(census)
        }

        func end(of id: UUID) throws -> RefusalReason? {
            let rows = try tables.database.sql(
                "SELECT COALESCE(end_reason, 'live') FROM sallyport.device_sessions WHERE id = '\(id)'")
            return try RefusalReason(rawValue: #require(rows.first?.first))
        }

        func sql(_ text: String) throws { try tables.database.sql(text) }
    }

    private struct SystemRandomBytes: RandomSource {
        func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0 ... .max) } }
    }

    private func with(
        _ preset: IdentityMapping.Preset = .kysely, _ ids: BetterAuthTables.IDType = .text,
        follow: IdentityFollow = .revocation, _ body: @escaping @Sendable (Bench) async throws -> Void
    ) async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database(), preset: preset, ids: ids)
        try await withStore(tables) { store, _ in
            let clock = TestClock(Self.start)
            try await body(
                Bench(
                    tables: tables, store: store, clock: clock,
                    watch: IdentityWatch(store: store, follow: follow, clock: clock)))
        }
    }

    @Test(
        "every row of the table, in the tables of each preset and with ids of each type",
        arguments: IdentityMapping.Preset.allCases, BetterAuthTables.IDType.allCases)
    func rows(preset: IdentityMapping.Preset, ids: BetterAuthTables.IDType) async throws {
        try await with(preset, ids) { bench in
            let expires = preset == .drizzle ? "expires_at" : "\"expiresAt\""
            let (live, gone) = (try await bench.signIn(), try await bench.signIn())
            let (movedBack, ranOut) = (try await bench.signIn(), try await bench.signIn(lifetime: .seconds(5)))
            let (ranOutAndGone, deleted) = (
                try await bench.signIn(lifetime: .seconds(5)), try await bench.signIn()
            )
            bench.clock.advance(by: .seconds(6))
            try bench.tables.removeSession(gone.row)
            try bench.tables.removeSession(ranOutAndGone.row)
            try bench.sql(
                "UPDATE session SET \(expires) = '2000-01-01' WHERE id::text = '\(movedBack.row.id)'")
            try bench.sql("DELETE FROM \"user\" WHERE id::text = '\(deleted.row.userID)'")
            #expect(try await bench.lookTwice() == .allWell)
            #expect(try bench.end(of: gone.id) == .sessionRevoked)
            #expect(try bench.end(of: movedBack.id) == .sessionRevoked)
            #expect(try bench.end(of: deleted.id) == .accountDeleted)
            for passive in [live.id, ranOut.id, ranOutAndGone.id] {
                #expect(try bench.end(of: passive) == nil)
            }
            let audited = try bench.tables.database.sql(
                "SELECT reason FROM sallyport.audit_events WHERE event = 'session_ended' ORDER BY reason")
            #expect(audited == [["account_deleted"], ["session_revoked"], ["session_revoked"]])
        }
    }

    @Test("one read is not enough, and an exchange in between takes the doubt away")
    func secondRead() async throws {
        try await with { bench in
            _ = try await bench.signIn()
            let session = try await bench.signIn()
            try bench.sql("UPDATE session SET \"expiresAt\" = '2000-01-01' WHERE id = '\(session.row.id)'")
            bench.clock.advance(by: .seconds(15))
            guard case .inDoubt(let census) = try await bench.watch.look(every: .seconds(15)) else {
                Issue.record("nothing is in doubt")
                return
            }
            #expect(try bench.end(of: session.id) == nil)
            bench.clock.advance(by: .seconds(5))
            try bench.sql("UPDATE session SET \"expiresAt\" = '2030-01-01Z' WHERE id = '\(session.row.id)'")
            let seen = try #require(
                try await bench.store.exchangeView(
                    token: Secret(session.row.token), tokenHash: Array(session.row.token.utf8)
                ).session)
            _ = try await bench.store.remember(
                SeenSession(
                    session: seen, tokenHash: Array(session.row.token.utf8), accessSID: "s_\(seen.id)",
                    seenAt: bench.clock.now()))
            #expect(try await bench.watch.confirm(census) == .allWell)
            #expect(try bench.end(of: session.id) == nil)
        }
    }

    @Test("where device sessions follow, an expired session ends them, and its row may still be prolonged")
    func follow() async throws {
        try await with(follow: .session) { bench in
            let (short, long) = (try await bench.signIn(lifetime: .seconds(5)), try await bench.signIn())
            try await bench.lookTwice()
            #expect(try bench.end(of: short.id) == .sessionExpired)
            #expect(try bench.end(of: long.id) == nil)
            let link = try await bench.store.exchangeView(
                token: Secret(short.row.token), tokenHash: Array(short.row.token.utf8)
            ).link
            #expect(link?.end == nil)
        }
    }

    @Test("a table that is emptied or not there is a disappearance, which ends nothing until it is confirmed")
    func disappearance() async throws {
        for change in ["DELETE FROM session", "ALTER TABLE session RENAME TO moved"] {
            try await with { bench in
                let sessions = [try await bench.signIn(), try await bench.signIn()]
                try bench.sql(change)
                guard case .disappearance(let found) = try await bench.lookTwice() else {
                    Issue.record("\(change) was not noticed")
                    return
                }
                #expect(found.cause == (change.hasPrefix("DELETE") ? .rows : .table))
                #expect(try await bench.store.disappearance()?.cause == found.cause)
                for session in sessions { #expect(try bench.end(of: session.id) == nil) }
                guard found.cause == .rows else { return }
                #expect(
                    try await !AbsenceCheck(bench.store, vanishedPercentMax: 20).isCredible(
                        at: bench.clock.now()))
                #expect(try await bench.store.dismissDisappearance(at: bench.clock.now()))
                guard case .disappearance = try await bench.lookTwice() else {
                    Issue.record("it was not noticed again")
                    return
                }
                #expect(try await bench.store.confirmDisappearance(at: bench.clock.now()) == 2)
                for session in sessions { #expect(try bench.end(of: session.id) == .sessionRevoked) }
            }
        }
    }

    @Test("a right that was withdrawn, and a statement that takes too long, say nothing of anybody")
    func unavailable() async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database())
        try tables.grantReading(to: "watch_reader")
        try await onLoop(tables.database, identityRole: "watch_reader") { main, identity in
            _ = try await MigrationRunner(migrations: Migrations.all).apply(on: main, clock: TestClock())
            let mapping = try IdentityMapping(preset: .kysely)
            let store = PostgresStore(
                databases: LoopDatabases([LoopDatabases.Pair(main: main, identity: identity)]), mapping: mapping,
                catalog: try await IdentityCatalog.read(mapping, from: identity), keys: FixedKeyring(),
                sealing: FixedKeys.sealing(), random: SystemRandomBytes(), logger: .disabled)
            let linked = LinkedSession(id: "s", userID: "u", expiresAt: Self.start, doubt: nil)
            let nothing = SessionSighting(expiresAt: nil, isUserThere: false)
            // The columns that are named suffice, also to see whether a table is empty.
            #expect(try await store.sightings(of: [linked]) == [nothing])
            #expect(try await store.emptyTables() == (true, true))
            #expect(try await !store.isTableMissing())

            try tables.database.sql("REVOKE SELECT (\"expiresAt\") ON public.session FROM watch_reader")
            await #expect(throws: AuthDomain.Unavailability.misconfigured) { try await store.sightings(of: [linked]) }
            #expect(try await !store.isTableMissing())
            try tables.database.sql("GRANT SELECT (\"expiresAt\") ON public.session TO watch_reader")
            #expect(try await store.sightings(of: [linked]) == [nothing])

            try tables.database.sql("ALTER TABLE public.session RENAME TO moved")
            await #expect(throws: AuthDomain.Unavailability.misconfigured) { try await store.sightings(of: [linked]) }
            #expect(try await store.isTableMissing())
            try tables.database.sql(
                "CREATE VIEW public.session AS SELECT *, pg_sleep(4)::text AS slow FROM public.moved; "
                    + "GRANT SELECT ON public.session TO watch_reader; INSERT INTO public.\"user\" (id, name, email) "
                    + "VALUES ('u', 'Ada', 'ada@example.test'); INSERT INTO public.moved (id, token, \"userId\", "
                    + "\"expiresAt\", \"createdAt\", \"updatedAt\") VALUES ('s', 't', 'u', '2030-01-01Z', "
                    + "'2026-01-01Z', '2026-01-01Z'); CREATE OR REPLACE VIEW public.session AS SELECT * FROM "
                    + "(SELECT *, pg_sleep(4)::text AS slow FROM public.moved OFFSET 0) m WHERE slow IS NOT NULL")
            await #expect(throws: AuthDomain.Unavailability.busy) { try await store.sightings(of: [linked]) }
        }
    }
}

@Suite("SQL functions for the application's hooks", .serialized)
struct RevocationFunctionTests {
    @Test("end_sessions ends all of a user's sessions as signing out everywhere does, and nobody else's")
    func endSessions() async throws {
        try await onMigrated { scratch in
            for reason in ["signed_out", "session_revoked", "account_deleted"] {
                try scratch.sql(Self.seed)
                let count = try scratch.sql(
                    "SELECT sallyport.end_sessions('u1', '\(reason)', statement_timestamp() - interval '9 seconds')")
                #expect(count == [["1"]])
                #expect(try Self.ends(scratch, "device_sessions") == [["u1", reason], ["u2", "live"]])
                #expect(try Self.ends(scratch, "identity_sessions") == [["u1", reason], ["u2", "live"]])
                let audit = try scratch.sql(
                    "SELECT event, user_id, reason, at < now() - interval '8 seconds' FROM sallyport.audit_events")
                #expect(audit == [["session_ended", "u1", reason, "t"]])
                #expect(try scratch.sql("SELECT sallyport.end_sessions('u1', '\(reason)')") == [["0"]])
            }
        }
    }

    @Test("revoke_device holds the device and ends what it was used with, once")
    func revokeDevice() async throws {
        try await onMigrated { scratch in
            let cases = [("device_revoked", "revoked"), ("device_lost", "lost"), ("wipe_ordered", "wipe_ordered")]
            for (reason, status) in cases {
                try scratch.sql(Self.seed)
                let device = "00000000-0000-0000-0000-0000000000d1"
                for _ in 0..<2 {
                    #expect(try scratch.sql("SELECT sallyport.revoke_device('\(device)', '\(reason)')") == [["t"]])
                }
                #expect(try scratch.sql("SELECT status FROM sallyport.devices ORDER BY id") == [[status], ["active"]])
                #expect(try Self.ends(scratch, "device_sessions") == [["u1", reason], ["u2", "live"]])
                #expect(try Self.ends(scratch, "identity_sessions") == [["u1", reason], ["u2", "live"]])
                let audit = try scratch.sql("SELECT event, user_id, reason FROM sallyport.audit_events")
                #expect(audit == [["device_held", "u1", status]])
            }
            let nobody = "00000000-0000-0000-0000-0000000000ff"
            #expect(try scratch.sql("SELECT sallyport.revoke_device('\(nobody)', 'device_lost')") == [["f"]])
        }
    }

    @Test(
        "whatever time a caller gives, an end is of the present and can be read: by the servers' clock and the database's",
        arguments: [
            // What the servers use, relative to the database; what is given; what is taken.
            (nil, "infinity", 60), (nil, "-infinity", -60), (nil, "2999-01-01Z", 60), (nil, "1970-01-01Z", -60),
            (0, "infinity", 60), (0, "-infinity", -60),
            // The database is 40 days behind, and ahead.
            (3_456_000, "infinity", 3_456_060), (3_456_000, "1970-01-01Z", 3_455_940),
            (-3_456_000, "infinity", -3_452_340), (-3_456_000, "-infinity", -3_456_060),
            (-300, "infinity", 60),
        ] as [(Int64?, String, Int64)])
    func bounded(servers: Int64?, given: String, taken: Int64) async throws {
        try await onMigrated { scratch in
            try scratch.sql(Self.seed)
            if let servers {
                try scratch.sql("UPDATE sallyport.clocks SET highest_at = now() + interval '\(servers) seconds'")
            }
            let device = "00000000-0000-0000-0000-0000000000d1"
            try scratch.sql("SELECT sallyport.end_sessions('u1', 'signed_out', '\(given)')")
            #expect(
                try scratch.sql("SELECT sallyport.revoke_device('\(device)', 'device_lost', '\(given)')") == [["t"]])
            let columns = [
                ("ended_at", "device_sessions WHERE user_id = 'u1'"),
                ("ended_at", "identity_sessions WHERE user_id = 'u1'"),
                ("status_at", "devices WHERE id = '\(device)'"), ("min(at)", "audit_events"),
                ("max(at)", "audit_events"),
                ("min(revoked_at)", "revocations"), ("max(revoked_at)", "revocations"),
            ]
            for (column, rows) in columns {
                let difference = "EXTRACT(EPOCH FROM \(column) - now())"
                let text = "SELECT \(difference) BETWEEN \(taken - 20) AND \(taken) FROM sallyport.\(rows)"
                #expect(try scratch.sql(text) == [["t"]], "\(column) of \(rows)")
            }
        }
    }

    @Test("no clock that is ahead clears what readers of the feed ask for")
    func cleared() async throws {
        try await onMigrated { scratch in
            try scratch.sql(Self.seed)
            try scratch.sql("UPDATE sallyport.clocks SET highest_at = now() - interval '40 days'")
            try scratch.sql("SELECT sallyport.end_sessions('u2', 'signed_out', '-infinity')")
            // A failed-over host that is 40 days ahead of the servers, an hour later.
            try scratch.sql("UPDATE sallyport.clocks SET highest_at = highest_at + interval '1 hour'")
            try scratch.sql("SELECT sallyport.end_sessions('u1', 'signed_out')")
            try scratch.sql("SELECT sallyport.clear_revocations(500)")
            let kept = "SELECT count(id) FROM sallyport.revocations WHERE revoked_at < now() - interval '39 days'"
            #expect(try scratch.sql(kept) == [["4"]])
        }
    }

    @Test("another reason, a null, and a role without the right are refused, and the right alone suffices")
    func refusals() async throws {
        try await onMigrated { scratch in
            try scratch.sql(Self.seed)
            let device = "'00000000-0000-0000-0000-0000000000d1'"
            for call in [
                "end_sessions('u1', 'superseded')", "end_sessions('u1', 'wipe_ordered')", "end_sessions('u1', NULL)",
                "end_sessions(NULL, 'signed_out')", "end_sessions('u1', 'signed_out', NULL)",
                "revoke_device(\(device), 'signed_out')", "revoke_device(\(device), 'suspended')",
                "revoke_device(\(device), NULL)", "revoke_device(NULL, 'device_lost')",
            ] {
                #expect(throws: (any Error).self, "\(call)") { try scratch.sql("SELECT sallyport.\(call)") }
            }
            try scratch.sql(
                """
                DO $$ BEGIN CREATE ROLE hook_caller LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN
                NULL; END $$; GRANT USAGE ON SCHEMA sallyport TO hook_caller;
                """)
            let call = "SET ROLE hook_caller; SELECT sallyport.end_sessions('u1', 'signed_out')"
            #expect(throws: (any Error).self) { try scratch.sql(call) }
            #expect(try Self.ends(scratch, "device_sessions") == [["u1", "live"], ["u2", "live"]])
            try scratch.sql(
                "GRANT EXECUTE ON FUNCTION sallyport.end_sessions(text, text, timestamptz) TO hook_caller")
            try scratch.sql(call)
            #expect(try Self.ends(scratch, "device_sessions") == [["u1", "signed_out"], ["u2", "live"]])
        }
    }

    private func onMigrated(_ body: @escaping @Sendable (ScratchDatabase) throws -> Void) async throws {
        let scratch = try ScratchCluster.shared.database()
        try await onLoop(scratch) { main, _ in
            _ = try await MigrationRunner(migrations: Migrations.all).apply(on: main, clock: TestClock())
            try body(scratch)
        }
    }

    private static func ends(_ scratch: ScratchDatabase, _ table: String) throws -> [[String]] {
        try scratch.sql("SELECT user_id, COALESCE(end_reason, 'live') FROM sallyport.\(table) ORDER BY user_id")
    }

    /// Two users with a device, a session and a device session each.
    private static let seed = """
        TRUNCATE sallyport.device_sessions, sallyport.session_ties, sallyport.identity_sessions, sallyport.devices,
            sallyport.audit_events, sallyport.keys;
        INSERT INTO sallyport.keys (kid, purpose, state, sealed_private_key, created_at, state_at)
        VALUES ('k', 'refresh', 'current', '', '2026-01-01Z', '2026-01-01Z');
        INSERT INTO sallyport.devices (id, user_id, installation_id, platform, status_at, created_at, last_seen_at)
        SELECT ('00000000-0000-0000-0000-0000000000d' || n)::uuid, 'u' || n, 'installation-' || n, 'ios', '2026-01-01Z',
            '2026-01-01Z', '2026-01-01Z' FROM generate_series(1, 2) n;
        INSERT INTO sallyport.identity_sessions (id, user_id, token_hash, access_sid, expires_at, first_seen_at,
            last_seen_at)
        SELECT 's' || n, 'u' || n, '', 's_' || n, '2027-01-01Z', '2026-01-01Z', '2026-01-01Z'
        FROM generate_series(1, 2) n;
        INSERT INTO sallyport.session_ties (identity_session_id, device_id, tied_at)
        SELECT 's' || n, ('00000000-0000-0000-0000-0000000000d' || n)::uuid, '2026-01-01Z' FROM generate_series(1, 2) n;
        INSERT INTO sallyport.device_sessions (id, user_id, device_id, identity_session_id, client_id, scope, auth_time,
            amr, created_at, expires_at, sealed_secret, generation, refresh_kid, issued_at, token_expires_at, rotated_at)
        SELECT ('00000000-0000-0000-0000-00000000005' || n)::uuid, 'u' || n,
            ('00000000-0000-0000-0000-0000000000d' || n)::uuid, 's' || n, 'app', 'api', '2026-01-01Z', '{session}',
            '2026-01-01Z', '2027-01-01Z', '', 1, 'k', '2026-01-01Z', '2026-02-01Z', '2026-01-01Z'
        FROM generate_series(1, 2) n;
        """
}
