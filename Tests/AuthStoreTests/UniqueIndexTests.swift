import AuthDomain
import AuthStore
import AuthTesting
import Crypto
import Postgres
import Primitives
import Testing

/// Wherever two firsts can meet on a unique index, both of them pass.
@Suite("Unique indexes", .serialized)
struct UniqueIndexTests {
    /// Every one there is, and why two requests at once do not fail on it. Who adds one says so here.
    private static let known = [
        "audit_events_pkey": "made by the database",
        "clocks_pkey": "its one row comes with the migration",
        "deployments_pkey": "its one row comes with the migration",
        "device_sessions_pkey": "random",
        "devices_installation": "an upsert waits for it: `Device store`",
        "devices_pkey": "random",
        "devices_push_fingerprint": "who registers one push token takes turns: below",
        "identity_mappings_pkey": "an upsert waits for it: below",
        "identity_sessions_pkey": "an upsert waits for it: below",
        "identity_watches_pkey": "its one row comes with the migration",
        "keys_one_current": "under the keys' lock: `Keyring on Postgres`",
        "keys_pkey": "under the keys' lock: `Keyring on Postgres`",
        "revocations_pkey": "made by the database",
        "revoked_access_tokens_pkey": "does nothing where it is there: below",
        "sallyport_migrations_pkey": "under the migrations' lock: `Migrations`",
        "secrets_pkey": "under the keys' lock: `Keyring on Postgres`",
        "session_ties_pkey": "does nothing where it is there: below",
        "user_marks_pkey": "an upsert waits for it: below",
    ]

    @Test("every unique index of ours is on the list")
    func all() async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database())
        try await withStore(tables) { _, _ in
            let names = try tables.database.sql(
                """
                SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
                WHERE i.indisunique AND c.relnamespace = 'sallyport'::regnamespace ORDER BY 1
                """)
            #expect(Set(names.map { $0[0] }) == Set(Self.known.keys))
        }
    }

    private func onPostgres(_ body: @escaping @Sendable (StoreUnderTest) async throws -> Void) async throws {
        try await StoreUnderTest.with(.postgres, body)
    }

    private func atOnce<Item: Sendable, Result: Sendable>(
        _ items: [Item], _ body: @escaping @Sendable (Item) async throws -> Result
    ) async throws -> [Result] {
        try await withThrowingTaskGroup(of: Result.self) { group in
            for item in items { group.addTask { try await body(item) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("users who exchange at once with one push token are all registered, and one of them has it")
    func pushToken() async throws {
        try await onPostgres { it in
            for round in 0..<15 {
                let firsts = try (0..<4).map { index in
                    let user = try it.user()
                    return (user: user, device: UUID(random: SystemRandom()), seen: try it.session(of: user), index)
                }
                let outcomes = try await atOnce(firsts) { first in
                    try await it.store.register(
                        it.registration(
                            first.seen, installation: "installation-\(round)-000\(first.3)", device: first.device,
                            push: "token-\(round)", startsSession: UUID(random: SystemRandom()), at: it.start))
                }
                #expect(outcomes == Array(repeating: .registered, count: 4))
                var owners = 0
                for first in firsts {
                    let device = try #require(try await it.store.device(first.device, of: first.user))
                    if device.isPushRegistered { owners += 1 }
                }
                #expect(owners == 1)
            }
        }
    }

    @Test("devices that swap their push tokens, and users who swap an installation, at once, are all registered")
    func swaps() async throws {
        try await onPostgres { it in
            let pairs = (
                try await it.signedIn(installation: "installation-0001"),
                try await it.signedIn(installation: "installation-0002")
            )
            @Sendable func register(
                _ who: StoreUnderTest.SignedIn, _ installation: String, _ push: String
            ) async throws -> RegistrationOutcome {
                try await it.store.register(
                    it.registration(
                        who.seen, installation: installation, device: who.device, push: push, at: it.start))
            }
            for round in 0..<15 {
                let tokens = round.isMultiple(of: 2) ? ["token-1", "token-2"] : ["token-2", "token-1"]
                async let one = register(pairs.0, "installation-0001", tokens[0])
                async let two = register(pairs.1, "installation-0002", tokens[1])
                #expect(try await [one, two] == [.registered, .registered])
            }
            let (user, other) = (try it.user(), try it.user())
            for round in 0..<15 {
                let firsts = [(user, "token-3"), (other, "token-4")]
                let outcomes = try await atOnce(firsts) { first in
                    try await it.store.register(
                        it.registration(
                            it.session(of: first.0), installation: "installation-shared-\(round)",
                            device: UUID(random: SystemRandom()), push: first.1, at: it.start))
                }
                #expect(outcomes == [.registered, .registered])
            }
        }
    }

    @Test("a session that is presented for the first time several times at once is remembered each time")
    func session() async throws {
        try await onPostgres { it in
            for round in 0..<25 {
                let user = try it.user()
                let seen = try it.session(of: user)
                let outcomes = try await atOnce(Array(0..<4)) { index in
                    index.isMultiple(of: 2)
                        ? try await it.store.remember(seen.seen(at: it.start))
                        : try await it.store.register(
                            it.registration(
                                seen, installation: "installation-\(round)-000\(index)",
                                device: UUID(random: SystemRandom()), at: it.start))
                }
                #expect(outcomes == Array(repeating: .registered, count: 4))
            }
        }
    }

    @Test("a token that is revoked, a session that is tied, and a user who is marked several times at once")
    func repeated() async throws {
        try await onPostgres { it in
            for round in 0..<10 {
                let one = try await it.signedIn(installation: "installation-round-\(round)")
                _ = try await atOnce(Array(0..<4)) { _ in
                    try await it.store.revokeAccessToken(
                        RevokedAccessToken(
                            tokenID: "jti-\(round)", userID: one.user, deviceID: one.device,
                            expiresAt: it.start + .minutes(30), revokedAt: it.start))
                }
                let again = try await atOnce(Array(0..<4)) { _ in
                    try await it.store.register(
                        it.registration(
                            one.seen, installation: "installation-round-\(round)", device: one.device, at: it.start))
                }
                #expect(again == Array(repeating: .registered, count: 4))
                _ = try await atOnce(Array(0..<4)) { _ in
                    try await it.store.endAllSessions(of: one.user, reason: .sessionRevoked, at: it.start)
                }
                #expect(try await it.deviceSession(one.session, of: one.user).rotation.end == .sessionRevoked)
            }
        }
    }

    @Test("servers that start at once record the identity mapping, each time")
    func mapping() async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database())
        try await withStore(tables) { _, pair in
            for _ in 0..<10 {
                try tables.database.sql("DELETE FROM sallyport.identity_mappings")
                _ = try await atOnce(Array(0..<4)) { _ in
                    try await IdentityMapping(preset: .kysely).record(in: pair.main, ifAlsoOf: pair.identity)
                }
            }
        }
    }
}
