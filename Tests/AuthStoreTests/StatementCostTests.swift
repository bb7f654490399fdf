import AuthStore
import AuthTesting
import Postgres
import Testing

@Suite("Cost of statements")
struct StatementCostTests {
    /// How a statement is looked at.
    private enum Look {
        /// One that requests and servers run: its arguments, and others.
        case serves(String, or: String? = nil)
        /// An operator's: planned for its arguments each time.
        case command(String)
        /// Not held to it, with the reason.
        case exempt(String)
    }

    private static let device = "'00000000-0000-4000-8000-000000000001'"
    private static let other = "'00000000-0000-4000-8000-000000000002'"
    private static let session = "'10000000-0000-4000-8000-000000000001'"
    private static let unknown = "'20000000-0000-4000-8000-000000000001'"
    private static let now = "'2026-01-05'"
    private static let rotation =
        "\(session), 1, 2, 'key', \(now), '2026-02-04', \(now), '{}', false, true"

    private static let keys = Look.exempt("keys, secrets and the deployment: some rows a year, whatever ends")
    private static let clock = Look.exempt("reads and writes one row of the clock's own table")
    private static let identity = Look.exempt("reads the identity store's tables by its own keys")

    private static let looks: [String: Look] = [
        "join_user": .serves("'user'"),
        "lock_user": .serves("'user'"),
        "mark_user": .serves("'user', \(now), '{live1}', NULL"),
        "session_mark": .serves("'user', 'live1', \(now)"),
        "take_registration_turns": .serves("'user', 'installation-1', 'push'"),
        "audit_replays": .serves("\(now), 'user', \(session), \(device), NULL"),
        "access_session": .serves("'s_live1', \(device)"),
        "claim_identity_turn": .serves("\(now), \(now)"),
        "close_disappearance": .command("\(now), 'confirmed'"),
        "declare_disappearance": .serves("\(now), 'rows', 1, 1, 1, 1"),
        "device_by_installation": .serves("'user', 'installation-1'"),
        "device_of_user": .serves("\(device), 'user'"),
        "device_session": .serves(session),
        "devices_of_user": .serves("'user'", or: "'crowded'"),
        "doubt_linked_sessions": .serves("'{live1}', 'session_revoked', \(now)"),
        "end_all_doubted_sessions": .command(now),
        "end_device_session": .serves("\(session), 'signed_out', NULL, \(now)"),
        "end_device_sessions": .serves("'user', 'signed_out', \(now), NULL"),
        "end_doubted_sessions": .serves("'{doubted}', 'session_revoked', \(now)"),
        "end_identity_session": .serves("'s_live1', 'signed_out', \(now)"),
        "end_identity_sessions": .serves("'user', 'signed_out', \(now), NULL"),
        "forget_doubts": .command(""),
        "hold_device": .serves("\(device), 'user', 'lost', \(now)"),
        "hold_device_by_order": .command("\(device), 'device_lost', \(now)"),
        "identity_disappearance": .serves(""),
        "installation_claims": .serves("'user', 'installation-1', \(device)"),
        "keep_linked_sessions": .serves("'{live1}', '{1800000000000000}', \(now)"),
        "linked_sample": .serves("\(now), 0, 9223372036854775807, 500"),
        "note_identity_look": .serves(now),
        "identity_look_completed": .serves(""),
        "forget_other_user": .serves("'live1', 'other', \(now)"),
        "linked_sessions": .serves("\(now), '', '', false, 500"),
        "list_device_sessions": .command("'user', \(now), 100"),
        "list_devices": .exempt("an operator's list of all devices, held ones too"),
        "list_sealed_push_tokens": .exempt("an operator's way over all devices, once"),
        "list_sealed_sessions": .command("\(unknown), 20"),
        "make_room_for_device": .serves("'user', 3, \(now)", or: "'crowded', 1, \(now)"),
        "register_device": .serves(
            "\(device), 'user', 'installation-1', 'ios', NULL, NULL, NULL, NULL, \(now), false, \(now), true"),
        "release_device": .serves("'00000000-0000-4000-8000-000000000004', 'user', 3, \(now)"),
        "remember_session": .serves("'live1', 'user', 'a', 's_live1', '2026-02-01', \(now), \(device), \(now)"),
        "revocations": .serves("NULL, NULL, 0, '2026-01-04 23:58', '2026-01-04 23:28', 10000"),
        "revocations_after": .serves("'1000000:1000000:', NULL, 0, '2026-01-04 23:58', '2026-01-04 23:28', 10000"),
        "revoke_access_token": .serves("'jti', 'user', NULL, \(now), '2026-01-06', '2026-01-04'"),
        "revoke_device_session": .command("\(session), \(now)"),
        "revoke_other_devices": .serves("'user', \(device), \(now)"),
        "revoke_user_sessions": .command("'user', \(now)"),
        "revoked_access_token": .serves("'jti'"),
        "rewrap_push_token": .command("'{\(device.dropFirst().dropLast())}', '{a}', '{b}'"),
        "rewrap_session": .command("'{\(session.dropFirst().dropLast())}', '{a}', '{b}'"),
        "rotate": .serves(rotation),
        "rotate_restored": .serves(rotation),
        "session_claims": .serves(session),
        "session_link": .serves("'\\x6c31'"),
        "set_push_token": .serves("\(device), 'apns', 'a', 'b'"),
        "start_session":
            .serves(
                "\(unknown), 'user', \(device), 'live1', 'app', 'api', \(now), '{session}', \(now), '2026-04-01', 'a', 1, "
                    + "'key', \(now), '2026-02-01', true"),
        "supersede_sessions": .serves("\(device), \(now), 0"),
        "suspend_device": .command("\(device), 'active', 'suspended', \(now), 'device_suspended'"),
        "take_push_token": .serves("\(other), 'installation-1', 'stranger', 'push'"),
        "tie_session": .serves("'live1', \(other), \(now)"),
        "update_device": .serves("\(device), 'user', 'Van', NULL"),
        "user_claims": .serves("'user', \(device)"),

        "advance_virtual_clock": clock, "clock": clock, "confirm_clock": clock, "notify_clock": clock,
        "raise_clock": clock,
        "set_virtual_clock": clock, "settle_clock": clock, "identity_time_zone": identity,
        "identity_visibility": identity,
        "add_public_half": keys, "audit_key": keys, "destroy_key": keys, "insert_key": keys, "insert_secret": keys,
        "key_records": keys, "list_sealed_keys": keys, "list_sealed_secrets": keys, "loadable_keys": keys,
        "lock_keys": keys, "notify_keys": keys, "promote_key": keys, "raise_token_lifetime": keys,
        "retire_current_key": keys, "rewrap_key": keys, "rewrap_secret": keys, "secret": keys, "try_lock_keys": keys,
        "database_place": identity, "identity_sessions_of_user": identity, "record_identity_mapping": identity,
        "remove_identity_mapping": identity, "claim_deployment": keys, "deployment": keys,
        "ensure_user": identity, "identity_columns": identity, "identity_empty_tables": identity,
        "identity_missing_tables": identity, "identity_session": identity, "identity_sessions": identity,
        "identity_user": identity, "identity_users": identity, "insert_session": identity,
    ]

    @Test("no statement touches more pages when more has ended, whatever the plan goes by", .timeLimit(.minutes(5)))
    func constant() async throws {
        let statements = try StatementSource.all()
        let names = Set(statements.map(\.name))
        #expect(names.subtracting(Self.looks.keys) == [], "statements without a look")
        // A thousand fill what is bounded: pages of lists, and what an end clears.
        let few = try await pages(of: statements, ended: 1_000)
        let many = try await pages(of: statements, ended: 100_000)
        #expect(few.count > 70 && few.count == many.count)
        for (statement, pages) in many.sorted(by: { $0.key < $1.key }) {
            let before = try #require(few[statement])
            // An index is up to two levels deeper, and no more.
            #expect(pages <= 2 * before + 40, "\(statement): \(before) pages with 1,000, \(pages) with 100,000")
        }
    }

    @Test("a rotation writes no index")
    func heapOnly() async throws {
        let rotate = try #require(try StatementSource.all().first { $0.name == "rotate" })
        let scratch = try await Self.database(ended: 0)
        let updates = try scratch.sql(
            Self.prepared(rotate) + "BEGIN; EXECUTE rotate (\(Self.rotation));"
                + "SELECT pg_stat_get_xact_tuples_updated(t), pg_stat_get_xact_tuples_hot_updated(t) "
                + "FROM (SELECT 'sallyport.device_sessions'::regclass::oid) AS d (t)")
        #expect(updates.last == ["1", "1"])
    }

    /// Pages of the schema's tables and indexes that each statement touches, triggers and functions included: those are not
    /// in the sum of its plan. By the statement's name and what its plan goes by.
    private func pages(of statements: [StatementSource], ended: Int) async throws -> [String: Int] {
        let scratch = try await Self.database(ended: ended)
        var script = ""
        for statement in statements {
            guard let look = Self.looks[statement.name] else { continue }
            let generic = "force_generic_plan"
            let (arguments, modes) =
                switch look {
                case .serves(let one, let other): ([one] + (other.map { [$0] } ?? []), ["force_custom_plan", generic])
                case .command(let one): ([one], ["force_custom_plan"])
                case .exempt: ([], [])
                }
            for (arguments, mode) in arguments.flatMap({ one in modes.map { (one, $0) } }) {
                script += """
                    SET plan_cache_mode = \(mode);
                    \(Self.prepared(statement))
                    BEGIN;
                    SELECT set_config('test.pages', (\(Self.pagesTouched))::text, true) IS NULL;
                    EXPLAIN (ANALYZE, COSTS off, TIMING off)
                        EXECUTE \(statement.name) \(arguments.isEmpty ? "" : "(\(arguments))");
                    SELECT 'pages', '\(statement.name) \(mode) ' || $$\(arguments)$$,
                        (\(Self.pagesTouched)) - current_setting('test.pages')::bigint;
                    ROLLBACK;
                    DEALLOCATE \(statement.name);

                    """
            }
        }
        let rows = try scratch.sql(script).filter { $0.count == 3 && $0[0] == "pages" }
        return Dictionary(uniqueKeysWithValues: rows.map { ($0[1], Int($0[2]) ?? -1) })
    }

    private static let pagesTouched = """
        SELECT sum(pg_stat_get_xact_blocks_fetched(oid))::bigint FROM pg_class
        WHERE relnamespace = 'sallyport'::regnamespace
        """

    private static func prepared(_ statement: StatementSource) -> String {
        let types = statement.types.isEmpty ? "" : "(\(statement.types.joined(separator: ", ")))"
        return "PREPARE \(statement.name) \(types) AS \(statement.sql ?? "");\n"
    }

    /// A user with three devices in use, and beside them so many rows of each table that have ended: of the same user,
    /// device and session, where they are in the way the most.
    private static func database(ended: Int) async throws -> ScratchDatabase {
        let scratch = try ScratchCluster.shared.database()
        try await onLoop(scratch) { main, _ in
            _ = try await MigrationRunner(migrations: Migrations.all).apply(on: main, clock: TestClock())
        }
        try scratch.sql(
            """
            SET session_replication_role = replica;
            SET synchronous_commit = off;
            INSERT INTO sallyport.keys (kid, purpose, state, sealed_private_key, created_at, state_at)
                VALUES ('key', 'refresh', 'current', '', '2026-01-01', '2026-01-01');
            CREATE TEMP TABLE live AS SELECT n, lpad(n::text, 12, '0') AS tail, '2026-01-01'::timestamptz AS began
                FROM generate_series(1, 3) n;
            INSERT INTO sallyport.devices
                (id, user_id, installation_id, platform, status, status_at, created_at, last_seen_at, push_provider,
                    sealed_push_token, push_fingerprint)
            SELECT ('00000000-0000-4000-8000-' || tail)::uuid, 'user', 'installation-' || n, 'ios', 'active', began,
                began, began, CASE n WHEN 1 THEN 'apns' END, CASE n WHEN 1 THEN 'a'::bytea END,
                CASE n WHEN 1 THEN 'push'::bytea END
            FROM live;
            -- Held ones of this user, and those that gave way of another one: `revoke_other_devices` takes them with it, once.
            INSERT INTO sallyport.devices
                (id, user_id, installation_id, platform, status, status_at, created_at, last_seen_at, superseded_at)
            SELECT ('00000000-0000-4000-8000-' || lpad((n + 3)::text, 12, '0'))::uuid,
                CASE n % 3 WHEN 2 THEN 'crowded' ELSE 'user' END, 'ended-' || n, 'ios',
                CASE n % 3 WHEN 0 THEN 'revoked' WHEN 1 THEN 'lost' ELSE 'active' END,
                began + n * interval '1 second', began, began, CASE n % 3 WHEN 2 THEN '2025-03-01'::timestamptz END
            FROM generate_series(1, \(ended)) n, (SELECT '2025-01-01'::timestamptz) AS b (began);

            INSERT INTO sallyport.identity_sessions
                (id, user_id, token_hash, access_sid, expires_at, first_seen_at, last_seen_at)
            SELECT 'live' || n, 'user', ('l' || n)::bytea, 's_live' || n, '2026-03-01', began, began FROM live;
            INSERT INTO sallyport.identity_sessions
                (id, user_id, token_hash, access_sid, expires_at, first_seen_at, last_seen_at, doubted_at, doubt_reason)
            VALUES ('doubted', 'user', 'd', 's_doubted', '2026-03-01', '2026-01-01', '2026-01-01', '2026-01-04', 'session_revoked');
            INSERT INTO sallyport.identity_sessions
                (id, user_id, token_hash, access_sid, expires_at, first_seen_at, last_seen_at, ended_at, end_reason)
            SELECT 'ended' || n, 'user', int8send(n), 's_ended' || n, '2026-03-01', '2025-01-01', '2025-01-01', '2025-02-01',
                'signed_out'
            FROM generate_series(1, \(ended)) n;
            INSERT INTO sallyport.session_ties (identity_session_id, device_id, tied_at)
            SELECT 'live' || n, ('00000000-0000-4000-8000-' || tail)::uuid, began FROM live
            UNION ALL SELECT 'ended' || n, \(device), '2025-01-01' FROM generate_series(1, \(ended)) n;

            INSERT INTO sallyport.device_sessions
                (id, user_id, device_id, identity_session_id, client_id, scope, auth_time, amr, created_at, expires_at,
                    sealed_secret, generation, refresh_kid, issued_at, token_expires_at, rotated_at)
            SELECT ('10000000-0000-4000-8000-' || tail)::uuid, 'user', ('00000000-0000-4000-8000-' || tail)::uuid,
                'live' || n, 'app', 'api', began, '{session}', began, '2026-04-01', 'a', 1, 'key', began, '2026-02-01', began
            FROM live;
            INSERT INTO sallyport.device_sessions
                (id, user_id, device_id, identity_session_id, client_id, scope, auth_time, amr, created_at, expires_at,
                    sealed_secret, generation, refresh_kid, issued_at, token_expires_at, rotated_at, ended_at, end_reason)
            SELECT gen_random_uuid(), 'user', \(device), 'live1', 'app', 'api', began, '{session}', began, '2025-04-01', 'a',
                1, 'key', began, '2025-02-01', began + n * interval '1 second', '2025-02-01', 'superseded'
            FROM generate_series(1, \(ended)) n, (SELECT '2025-01-01'::timestamptz) AS b (began);

            INSERT INTO sallyport.revocations (xid, sid, reason, revoked_at)
            SELECT '3', 'ended' || n, 'signed_out', '2025-02-01'::timestamptz + n * interval '1 second'
            FROM generate_series(1, \(ended)) n;
            INSERT INTO sallyport.revoked_access_tokens (jti, user_id, revoked_at, expires_at)
            SELECT 'ended' || n, 'user', '2025-02-01', '2025-02-01'::timestamptz + n * interval '1 second'
            FROM generate_series(1, \(ended)) n;
            INSERT INTO sallyport.audit_events (at, event, user_id, device_id)
            SELECT '2025-02-01', 'session_ended', 'user', \(device) FROM generate_series(1, \(ended));
            ANALYZE;
            """)
        return scratch
    }
}
