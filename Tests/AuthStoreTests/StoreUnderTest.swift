import AuthDomain
import AuthStore
import AuthTesting
import Crypto
import Postgres
import Primitives
import Reactor
import Telemetry
import Testing

/// The implementations of the domain's ports, each held to the same suite.
enum StoreKind: String, CaseIterable, Sendable {
    case memory, postgres
}

/// A store with what a test puts beside it.
struct StoreUnderTest: Sendable {
    private enum Identity: Sendable {
        case memory(MemoryStore)
        case tables(BetterAuthTables)
    }

    let store: any SessionStore & DeviceStore
    private let identity: Identity
    let start = TestClock().now()

    init(store: PostgresStore, on tables: BetterAuthTables) {
        self.init(store: store, identity: .tables(tables))
    }

    private init(store: any SessionStore & DeviceStore, identity: Identity) {
        self.store = store
        self.identity = identity
    }

    /// Runs a body with a fresh store, on an event loop where there is one.
    static func with(
        _ kind: StoreKind, _ body: @escaping @Sendable (StoreUnderTest) async throws -> Void
    ) async throws {
        switch kind {
        case .memory:
            let store = MemoryStore()
            try await body(StoreUnderTest(store: store, identity: .memory(store)))
        case .postgres:
            let scratch = try ScratchCluster.shared.database()
            let tables = try BetterAuthTables(in: scratch)
            try await withStore(tables) { store, _ in
                try await body(StoreUnderTest(store: store, on: tables))
            }
        }
    }

    func user(isVerified: Bool = true) throws -> String {
        switch identity {
        case .tables(let tables): return try tables.user(isVerified: isVerified)
        case .memory(let store):
            let id = "user-\(BetterAuthTables.letters(12))"
            store.putUser(id, isVerified: isVerified)
            return id
        }
    }

    /// A session of the identity store, found by its token as the column holds it.
    func session(
        of user: String, token: String = BetterAuthTables.letters(32), createdAt: Timestamp? = nil
    ) throws -> Seen {
        let createdAt = createdAt ?? start
        switch identity {
        case .tables(let tables):
            let made = try tables.session(of: user, token: token, at: createdAt)
            return Seen(
                session: IdentitySession(
                    id: made.id, userID: user, createdAt: createdAt, expiresAt: createdAt + .days(7),
                    impersonatedBy: nil),
                token: token)
        case .memory(let store):
            let session = IdentitySession(
                id: "id-of-\(token)", userID: user, createdAt: createdAt, expiresAt: createdAt + .days(7),
                impersonatedBy: nil)
            store.putSession(session, column: token)
            return Seen(session: session, token: token)
        }
    }

    /// As an operator does; no port suspends.
    func setStatus(_ status: DeviceStatus, of device: UUID, at now: Timestamp) throws {
        switch identity {
        case .memory(let store): store.setStatus(status, of: device, at: now)
        case .tables(let tables):
            try tables.database.sql(
                "UPDATE sallyport.devices SET status = '\(status.rawValue)', status_at = '\(now.rfc3339)' "
                    + "WHERE id = '\(device)'")
        }
    }

    /// - Parameter json: `nil` is SQL's NULL.
    func setCustomClaims(_ json: String?) throws {
        switch identity {
        case .memory(let store): store.setCustomClaims(json)
        case .tables(let tables):
            try tables.database.sql(
                """
                CREATE OR REPLACE FUNCTION sallyport.custom_claims(user_id text, device_id uuid) RETURNS jsonb
                    LANGUAGE sql STABLE AS $$ SELECT \(json.map { "'\($0)'" } ?? "NULL")::jsonb $$
                """)
        }
    }

    struct Seen: Sendable {
        let session: IdentitySession
        let token: String

        var hash: [UInt8] { SHA256.hash(Array(token.utf8)) }
        var accessSID: String { FixedKeys.hasher.accessSID(of: session.id) }

        func seen(at now: Timestamp) -> SeenSession {
            SeenSession(session: session, tokenHash: hash, accessSID: accessSID, seenAt: now)
        }
    }
}

/// Writes that most tests begin with.
extension StoreUnderTest {
    /// What an exchange writes; without a device session what `GET /auth/token` does.
    func registration(
        _ seen: Seen, installation: String = "installation-0001", device: UUID, name: String? = nil,
        push: String? = nil, reactivates: Bool = false,
        devicesMax: Int? = nil, startsSession: UUID? = nil, at now: Timestamp
    ) throws -> Registration {
        Registration(
            seen: seen.seen(at: now), deviceID: device,
            metadata: try DeviceMetadata(
                installationID: installation, platform: "ios", name: name, model: nil, osVersion: nil, appVersion: nil),
            push: try push.map { try PushRegistration(token: $0, provider: "apns") }, reactivates: reactivates,
            devicesMax: devicesMax,
            deviceSession: startsSession.map { id in
                DeviceSessionStart(
                    id: id, clientID: "app", scopes: ScopeSet(["api", "sync"]), authTime: seen.session.createdAt,
                    amr: ["session"], isVerified: true, expiresAt: now + .days(90), issued: issued(1, at: now),
                    sealedSecret: [1, 2, 3])
            })
    }

    func issued(_ generation: Int64, at now: Timestamp) -> IssuedRefresh {
        IssuedRefresh.make(
            generation: generation, kid: FixedKeys.keyring.refresh.kid, lifetime: .days(30),
            sessionEnd: now + .days(90), at: now)
    }

    struct SignedIn: Sendable {
        let user: String
        let seen: Seen
        let device: UUID
        let session: UUID
    }

    /// A user with a session, exchanged on a device.
    func signedIn(installation: String = "installation-0001", user: String? = nil) async throws -> SignedIn {
        let user = try user ?? self.user()
        let seen = try session(of: user)
        let (device, session) = (UUID(random: SystemRandom()), UUID(random: SystemRandom()))
        let outcome = try await store.register(
            registration(seen, installation: installation, device: device, startsSession: session, at: start))
        try #require(outcome == .registered)
        return SignedIn(user: user, seen: seen, device: device, session: session)
    }

    /// The same session on the same device once more: a second device session.
    func exchangedAgain(_ signedIn: SignedIn, at now: Timestamp) async throws -> UUID {
        let session = UUID(random: SystemRandom())
        let outcome = try await store.register(
            registration(signedIn.seen, device: signedIn.device, startsSession: session, at: now))
        try #require(outcome == .registered)
        return session
    }

    func deviceSession(_ id: UUID, of user: String) async throws -> DeviceSession {
        try #require(try await store.refreshView(sessionID: id, userID: user).session)
    }

    func rotation(
        _ session: DeviceSession, key: [UInt8]? = nil, to generation: Int64? = nil, isVerified: Bool = true,
        at now: Timestamp
    ) -> Rotation {
        Rotation(
            sessionID: session.id, state: session.rotation,
            issued: issued(generation ?? session.rotation.generation + 1, at: now), keyHash: key,
            isVerified: isVerified, isRestored: generation.map { $0 > session.rotation.generation + 1 } ?? false,
            at: now)
    }
}

/// A migrated database with tables of Better Auth, and the store on it. The body runs on the store's loop.
func withStore(
    _ tables: BetterAuthTables, mapping: IdentityMapping? = nil,
    _ body: @escaping @Sendable (PostgresStore, LoopDatabases.Pair) async throws -> Void
) async throws {
    let mapping = try mapping ?? IdentityMapping(preset: tables.preset)
    try await onLoop(tables.database) { main, identity in
        _ = try await MigrationRunner(migrations: Migrations.all).apply(on: main, clock: TestClock())
        try tables.database.sql(
            "INSERT INTO sallyport.keys (kid, purpose, state, sealed_private_key, created_at, state_at) VALUES "
                + "('\(FixedKeys.keyring.refresh.kid)', 'refresh', 'current', '', now(), now()) ON CONFLICT DO NOTHING")
        let pair = LoopDatabases.Pair(main: main, identity: identity)
        let catalog = try await IdentityCatalog.read(mapping, from: identity)
        let store = PostgresStore(
            databases: LoopDatabases([pair]), mapping: mapping, catalog: catalog, keys: FixedKeyring(),
            sealing: FixedKeys.sealing(), random: SystemRandom(), logger: .disabled)
        try await body(store, pair)
    }
}

/// Two databases on a loop of their own: ours, and the identity store's read-only one.
func onLoop(
    _ scratch: ScratchDatabase, identityRole: String = "postgres",
    _ body: @escaping @Sendable (_ main: Database, _ identity: Database) async throws -> Void
) async throws {
    let loop = try EventLoop(name: "store")
    loop.start()
    let result = await loop.run { () async -> Result<Void, any Error> in
        do {
            var configuration = DatabaseConfiguration(applicationName: "sallyport-tests")
            let main = try Database(
                url: DatabaseURL(Secret(scratch.url)), loop: loop, configuration: configuration, logger: .disabled)
            configuration.isReadOnly = true
            let identity = try Database(
                url: DatabaseURL(Secret(scratch.url(role: identityRole))), loop: loop, configuration: configuration,
                logger: .disabled)
            let result: Result<Void, any Error>
            do { result = .success(try await body(main, identity)) } catch { result = .failure(error) }
            await main.close()
            await identity.close()
            return result
        } catch {
            return .failure(error)
        }
    }
    loop.stop()
    loop.join()
    try result.get()
}
