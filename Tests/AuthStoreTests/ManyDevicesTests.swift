import AuthDomain
import AuthTesting
import Primitives
import Testing

@testable import AuthStore

@Suite("A user with thousands of devices", .serialized)
struct ManyDevicesTests {
    /// Beside the user's own device, so many with a session each.
    private func with(
        _ count: Int, status: String = "active",
        _ body: @escaping @Sendable (StoreUnderTest, StoreUnderTest.SignedIn, ScratchDatabase) async throws -> Void
    ) async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database())
        try await withStore(tables) { store, _ in
            let it = StoreUnderTest(store: store, on: tables)
            let one = try await it.signedIn()
            try tables.database.sql(
                """
                SET session_replication_role = replica;
                CREATE TEMP TABLE made AS SELECT n, gen_random_uuid() AS id, '\(it.start.rfc3339)'::timestamptz AS at
                    FROM generate_series(1, \(count)) n;
                INSERT INTO sallyport.devices
                    (id, user_id, installation_id, platform, status, status_at, created_at, last_seen_at)
                SELECT id, '\(one.user)', 'installation-made-' || n, 'ios', '\(status)', at + n * interval '1 second', at, at FROM made;
                INSERT INTO sallyport.identity_sessions
                    (id, user_id, token_hash, access_sid, expires_at, first_seen_at, last_seen_at)
                SELECT 'made-' || n, '\(one.user)', int8send(n), 's_made' || n, at + interval '7 days', at, at FROM made;
                INSERT INTO sallyport.session_ties (identity_session_id, device_id, tied_at)
                SELECT 'made-' || n, id, at FROM made;
                INSERT INTO sallyport.device_sessions
                    (id, user_id, device_id, identity_session_id, client_id, scope, auth_time, amr, created_at, expires_at,
                        sealed_secret, generation, refresh_kid, issued_at, token_expires_at, rotated_at)
                SELECT id, '\(one.user)', id, 'made-' || n, 'app', 'api', at, '{session}', at, at + interval '90 days', 'a', 1,
                    (SELECT kid FROM sallyport.keys), at, at + interval '30 days', at
                FROM made;
                """)
            try await body(it, one, tables.database)
        }
    }

    @Test("hundreds are revoked by one statement, in the time that a statement has, while others sign in and refresh")
    func revokeOthers() async throws {
        try await with(300) { it, one, database in
            let now = it.start + .seconds(9)
            try await withThrowingTaskGroup { group in
                for _ in 0..<2 {
                    group.addTask { try await it.store.revokeDevices(of: one.user, except: one.device, at: now) }
                }
                for index in 0..<8 {
                    group.addTask {
                        let other = try await it.signedIn(installation: "installation-00\(index)")
                        let session = try await it.deviceSession(other.session, of: other.user)
                        #expect(try await it.store.rotate(it.rotation(session, at: now)))
                    }
                }
                try await group.waitForAll()
            }
            #expect(
                try database.sql(
                    """
                    SELECT (SELECT count(*) FROM sallyport.devices WHERE user_id = '\(one.user)' AND status = 'revoked'),
                        (SELECT count(*) FROM sallyport.device_sessions WHERE end_reason = 'device_revoked'),
                        (SELECT count(*) FROM sallyport.identity_sessions WHERE end_reason = 'device_revoked'),
                        (SELECT count(*) FROM sallyport.audit_events WHERE event = 'device_held' AND reason = 'revoked')
                    """) == [["300", "300", "300", "300"]])
            #expect(try await it.deviceSession(one.session, of: one.user).rotation.end == nil)
        }
    }

    @Test(
        "of what is held the list shows a hundred: the last that were revoked, the first that were lost",
        arguments: [("revoked", 51), ("lost", 1), ("wipe_ordered", 1)])
    func listsHeld(status: String, first: Int) async throws {
        try await with(150, status: status) { it, one, _ in
            let devices = try await it.store.devices(of: one.user)
            #expect(devices.count == 101 && devices.contains { $0.id == one.device })
            let shown = Set(devices.map(\.metadata.installationID)).subtracting(["installation-0001"])
            #expect(shown == Set((first..<first + 100).map { "installation-made-\($0)" }))
        }
    }
}
