import AuthTesting
import Primitives
import Testing

@Suite("The application's own hooks, over sockets", .blocking)
struct HookTests {
    private let role = "hook_application"

    /// In the application's own session, where its own objects would be found first.
    private func asApplication(_ site: Site, _ text: String) throws -> [[String]] {
        try site.database.sql("SET ROLE \(role); \(text)")
    }

    @Test("with EXECUTE and USAGE alone the application ends sessions and devices; without them it cannot")
    func grants() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let (user, other) = (try site.tables.user(), try site.tables.user())
        let phone = try client.signedIn(site.tables.session(of: user).signed)
        let tablet = try client.signedIn(site.tables.session(of: user).signed, installation: "installation-0002")
        let stranger = try client.signedIn(site.tables.session(of: other).signed)
        try site.database.sql(
            "DO $$ BEGIN CREATE ROLE \(role) LOGIN; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
        )
        let end = "SELECT sallyport.end_sessions('\(user)', 'account_deleted')"
        let revoke = "SELECT sallyport.revoke_device('\(phone.deviceID)', 'device_lost')"
        func expectRefused(_ call: String) {
            #expect(throws: (any Error).self, "\(call)") { try asApplication(site, call) }
        }
        for call in [end, revoke] { expectRefused(call) }
        try site.database.sql("GRANT USAGE ON SCHEMA sallyport TO \(role)")
        for call in [end, revoke] { expectRefused(call) }
        try site.database.sql(
            "GRANT EXECUTE ON FUNCTION sallyport.revoke_device(uuid, text, timestamptz) TO \(role)")
        expectRefused(end)
        #expect(try client.refreshed(phone.refresh).generation == 2)

        // A hook runs in the application's transaction: what is rolled back has not happened.
        _ = try asApplication(site, "BEGIN; \(revoke); ROLLBACK")
        #expect(try client.refresh(phone.refresh).status == 200)
        #expect(try asApplication(site, revoke) == [["t"]])
        try expectRefusal(client.refresh(phone.refresh), 400, "invalid_grant", "device_lost", "wipe")
        #expect(try client.refreshed(tablet.refresh).generation == 2)

        try site.database.sql(
            "GRANT EXECUTE ON FUNCTION sallyport.end_sessions(text, text, timestamptz) TO \(role)")
        let never = try site.tables.session(of: user)
        #expect(try asApplication(site, end) == [["1"]])
        try expectRefusal(
            client.exchange(never.signed, installation: "made-up-installation"), 400, "invalid_grant",
            "session_revoked", "lock")
        try expectRefusal(client.refresh(tablet.refresh), 400, "invalid_grant", "account_deleted", "lock")
        #expect(try client.refreshed(stranger.refresh).generation == 2)
        // The functions are all that the role has.
        for text in ["SELECT id FROM sallyport.devices", "UPDATE sallyport.devices SET status = 'active'"] {
            expectRefused(text)
        }
        try site.database.sql("REVOKE ALL ON ALL FUNCTIONS IN SCHEMA sallyport FROM \(role)")
        for call in [end, revoke] { expectRefused(call) }
    }

    @Test("the functions run with a fixed search_path: what the caller has made or set is not found")
    func searchPath() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let session = try site.tables.signIn()
        let pair = try client.signedIn(session.signed)
        let settings = try site.database.sql(
            """
            SELECT p.proname, p.prosecdef, array_to_string(p.proconfig, ','),
                has_function_privilege('public', p.oid, 'EXECUTE')
            FROM pg_proc p WHERE p.pronamespace = 'sallyport'::regnamespace AND p.proname <> 'custom_claims' ORDER BY 1
            """)
        // The hooks and the trigger that clears the feed run with the rights of their owner.
        // What servers call runs with their own rights, and may be called by a role that has nothing but rights on tables.
        let functions = [
            ("bounded_time", "f", "f"), ("clear_revocations", "f", "f"), ("end_sessions", "t", "f"),
            ("hold_devices", "f", "t"), ("make_room_for_device", "f", "t"), ("note_revocation", "t", "f"),
            ("release_device", "f", "t"), ("revoke_device", "t", "f"), ("revoke_other_devices", "f", "t"),
            ("session_ids", "f", "f"),
        ]
        #expect(settings == functions.map { [$0.0, $0.1, "search_path=pg_catalog, pg_temp", $0.2] })
        // An operator and a table that would win, were they looked for in the caller's schemas.
        let ended = try site.database.sql(
            """
            CREATE SCHEMA trap; SET search_path = trap, pg_catalog;
            CREATE FUNCTION trap.same(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT true';
            CREATE OPERATOR trap.= (LEFTARG = text, RIGHTARG = text, FUNCTION = trap.same);
            CREATE TEMP TABLE device_sessions (id uuid, user_id text, ended_at timestamptz);
            SELECT sallyport.end_sessions('nobody', 'signed_out');
            """)
        #expect(ended == [["0"]])
        #expect(try client.refreshed(pair.refresh).generation == 2)
    }
}
