import AuthDomain
import AuthStore
import AuthTesting
import Crypto
import JOSE
import Postgres
import Primitives
import Reactor
import Telemetry
import Testing

@Suite("Keyring on Postgres")
struct KeyringTests {
    @Test("creators that start at once make one set, and all of them read it")
    func creators() async throws {
        let tables = try database()
        try await onMigrated(tables) { pair in
            let keyrings = (0..<4).map { _ in keyring(pair) }
            #expect(keyrings.allSatisfy { $0.keyring == nil })
            try await withThrowingTaskGroup(of: Void.self) { group in
                for keyring in keyrings { group.addTask { try await keyring.loadOrCreate() } }
                try await group.waitForAll()
            }
            let loaded = try keyrings.map { try $0.required() }
            for purpose in [\Keyring.signing.kid, \.refresh.kid, \.verdict.kid] {
                #expect(Set(loaded.map { $0[keyPath: purpose] }).count == 1)
            }
            #expect(Set(loaded.map { $0.hasher.hash("value", purpose: "test") }).count == 1)
            let first = try #require(loaded.first)
            #expect(Set([first.signing.kid, first.refresh.kid, first.verdict.kid]).count == 3)
            #expect(first.published.map(\.kid) == [first.signing.kid])
            #expect(try tables.sql("SELECT count(kid) FROM sallyport.keys") == [["3"]])
            #expect(try tables.sql("SELECT count(name) FROM sallyport.secrets") == [["2"]])

            let secrets = try await (keyrings[0].identitySecret(), keyrings[1].identitySecret())
            #expect(secrets.0 == secrets.1 && secrets.0.exposed.count == 32)
        }
    }

    @Test("a reload before there are keys is starting, and makes none")
    func beforeTheFirst() async throws {
        let tables = try database()
        try await onMigrated(tables) { pair async throws in
            let keyring = keyring(pair)
            await #expect(throws: AuthDomain.Unavailability.starting) { try await keyring.reload() }
            #expect(keyring.keyring == nil)
            #expect(try tables.sql("SELECT count(kid) FROM sallyport.keys") == [["0"]])
        }
    }

    @Test("another key-encryption key is misconfigured: nothing is loaded, made or changed")
    func wrongKEK() async throws {
        let tables = try database()
        try await onMigrated(tables) { pair in
            try await keyring(pair).loadOrCreate()
            let before = try tables.sql("SELECT kid, sealed_private_key FROM sallyport.keys ORDER BY kid")
            let other = keyring(pair, sealing: FixedKeys.sealing(0x4c))
            await #expect(throws: AuthDomain.Unavailability.misconfigured) { try await other.loadOrCreate() }
            await #expect(throws: AuthDomain.Unavailability.misconfigured) { try await other.reload() }
            await #expect(throws: AuthDomain.Unavailability.misconfigured) { try await other.identitySecret() }
            #expect(other.keyring == nil)
            #expect(try tables.sql("SELECT kid, sealed_private_key FROM sallyport.keys ORDER BY kid") == before)
        }
    }

    @Test("a list of key-encryption keys opens what an older one of them sealed")
    func rotatedKEK() async throws {
        let tables = try database()
        try await onMigrated(tables) { pair in
            let first = keyring(pair)
            try await first.loadOrCreate()
            let both = try KeyEncryptionKeys([0x4c, 0x4b].map { Secret([UInt8](repeating: $0, count: 32)) })
            let second = keyring(pair, sealing: both)
            try await second.loadOrCreate()
            #expect(try second.required().signing.kid == first.required().signing.kid)
        }
    }

    @Test("a sealed key moved to another row does not open there")
    func swappedRows() async throws {
        let tables = try database()
        try await onMigrated(tables) { pair in
            let first = keyring(pair)
            try await first.loadOrCreate()
            try tables.sql(
                """
                UPDATE sallyport.keys SET sealed_private_key =
                    (SELECT sealed_private_key FROM sallyport.keys WHERE purpose = 'refresh') WHERE purpose = 'access'
                """)
            await #expect(throws: AuthDomain.Unavailability.misconfigured) { try await keyring(pair).reload() }
            // What is in memory goes on.
            await #expect(throws: AuthDomain.Unavailability.misconfigured) { try await first.reload() }
            #expect(first.keyring != nil)
        }
    }

    @Test("a reload finds what another server has changed: next and retired keys published, removed ones gone")
    func states() async throws {
        let tables = try database()
        try await onMigrated(tables) { pair in
            let keyring = keyring(pair)
            try await keyring.loadOrCreate()
            let current = try keyring.required().signing.kid
            var kids: [String: String] = [:]
            for (state, key) in [("next", FixedKeys.signing), ("retired", FixedKeys.nextSigning)] {
                let kid = FixedKeys.pair(.access, .current, key).kid
                kids[state] = kid
                let sealed = try FixedKeys.sealing().seal(
                    key.pkcs8DER().exposed, context: "key:" + kid, random: SystemRandom())
                try tables.sql(
                    "INSERT INTO sallyport.keys (kid, purpose, state, sealed_private_key, created_at, state_at) VALUES "
                        + "('\(kid)', 'access', '\(state)', '\\x\(Hex.encode(sealed))', now(), now())")
            }
            let reloaded = try await keyring.reload()
            #expect(reloaded.published.first?.kid == current)
            #expect(Set(reloaded.published.map(\.kid)) == Set(kids.values).union([current]))
            try tables.sql(
                "UPDATE sallyport.keys SET state = 'removed', sealed_private_key = NULL WHERE state = 'retired'")
            let after = try await keyring.reload()
            #expect(after.accessKey(try #require(kids["retired"])) == nil)
            #expect(after.accessKey(try #require(kids["next"])) != nil)
        }
    }

    private func database() throws -> ScratchDatabase { try ScratchCluster.shared.database() }

    private func onMigrated(
        _ scratch: ScratchDatabase, _ body: @escaping @Sendable (LoopDatabases.Pair) async throws -> Void
    ) async throws {
        try await onLoop(scratch) { main, identity in
            _ = try await MigrationRunner(migrations: Migrations.all).apply(on: main, clock: TestClock())
            try await body(LoopDatabases.Pair(main: main, identity: identity))
        }
    }

    private func keyring(
        _ pair: LoopDatabases.Pair, sealing: KeyEncryptionKeys = FixedKeys.sealing()
    ) -> PostgresKeyring {
        PostgresKeyring(
            databases: LoopDatabases([pair]), sealing: sealing, clock: TestClock(), random: SystemRandom(),
            logger: .disabled)
    }
}
