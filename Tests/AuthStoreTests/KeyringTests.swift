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
            // The public halves need no key-encryption key: who verifies notices nothing.
            let known = keyring(pair)
            #expect(try await other.published == known.reload().published)
            #expect(other.fault?.contains("does not open") == true && known.fault == nil)
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
            let strange = keyring(pair)
            await #expect(throws: AuthDomain.Unavailability.misconfigured) { try await strange.reload() }
            let kid = try first.required().signing.kid
            #expect(strange.inventory?.unreadable == ["key:\(kid)"])
            #expect(strange.published?.map(\.kid) == [kid])
            // What is in memory goes on, and says so.
            #expect(try await first.reload().signing.kid == kid)
            #expect(first.fault?.contains("key:\(kid)") == true)
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

    @Test("who can write the table only adds no key to the key set: a public half needs the deployment's own mark")
    func forgedRow() async throws {
        let tables = try database()
        try await onMigrated(tables) { pair in
            let keyring = keyring(pair)
            try await keyring.loadOrCreate()
            let before = keyring.published?.map(\.kid)
            let forged = FixedKeys.pair(.access, .next, FixedKeys.foreign)
            guard case .rsa(let key) = forged.jwk.key else { preconditionFailure("the fixed keys are RSA keys") }
            let (n, e) = (Hex.encode(key.modulus), Hex.encode(key.exponent))
            let mac = Hex.encode(FixedKeys.hasher.publicMAC(kid: forged.kid, purpose: .access))
            try tables.sql(
                """
                INSERT INTO sallyport.keys (kid, purpose, state, sealed_private_key, created_at, state_at, modulus,
                    exponent, public_mac)
                VALUES ('\(forged.kid)', 'access', 'next', '\\x00', now(), now(), '\\x\(n)', '\\x\(e)', '\\x\(mac)')
                """)
            #expect(try await keyring.reload().published.map(\.kid) == before)
            #expect(keyring.inventory?.unreadable == ["key:\(forged.kid)"])
            // Nor does another purpose's key become one of the key set.
            try tables.sql(
                """
                DELETE FROM sallyport.keys WHERE kid = '\(forged.kid)';
                UPDATE sallyport.keys SET purpose = 'access', state = 'next', sealed_private_key = '\\x00'
                WHERE purpose = 'verdict'
                """)
            await #expect(throws: AuthDomain.Unavailability.misconfigured) {
                try await AuthStoreTests.keyring(pair).reload()
            }
            #expect(keyring.published?.map(\.kid) == before)
        }
    }

    @Test("a next key that does not open here is published, and readiness says so before it signs")
    func unreadableNext() async throws {
        let tables = try database()
        try await onMigrated(tables) { pair in
            let old = keyring(pair)
            try await old.loadOrCreate()
            let both = try KeyEncryptionKeys([0x4c, 0x4b].map { Secret([UInt8](repeating: $0, count: 32)) })
            let lifecycle = lifecycle(TestClock(), sealing: both)
            #expect(try await lifecycle.perform(.rotate(.access), in: pair.main) == .success([.make(.access, .next)]))
            let signing = try old.required().signing.kid
            let reloaded = try await old.reload()
            #expect(reloaded.signing.kid == signing && reloaded.published.count == 2)
            #expect(old.fault?.contains("does not open") == true)
            let new = keyring(pair, sealing: both)
            #expect(try await new.reload().published.map(\.kid) == reloaded.published.map(\.kid))
            #expect(new.fault == nil)
        }
    }

    @Test("keys that were read too long ago are read again before they sign; fresh ones are not")
    func age() async throws {
        let tables = try database()
        try await onMigrated(tables) { pair in
            func keyring(_ ageMax: Duration?) -> PostgresKeyring {
                PostgresKeyring(
                    databases: LoopDatabases([pair]), sealing: FixedKeys.sealing(), ageMax: ageMax, clock: TestClock(),
                    random: SystemRandom(), logger: .disabled)
            }
            let (stale, fresh) = (keyring(.zero), keyring(nil))
            try await stale.loadOrCreate()
            try await fresh.loadOrCreate()
            let old = try fresh.required().signing.kid
            _ = try await lifecycle(TestClock()).perform(.compromise(kid: old), in: pair.main)
            #expect(try await stale.current().signing.kid != old)
            #expect(try await fresh.current().signing.kid == old)
            // Where they cannot be read again, nothing is signed.
            try tables.sql("ALTER TABLE sallyport.keys RENAME TO moved_keys")
            await #expect(throws: AuthDomain.Unavailability.misconfigured) { try await stale.current() }
            #expect(stale.published?.isEmpty == false)
        }
    }

    @Test("a key of a server that knew no public halves gets one with the first look")
    func completed() async throws {
        let tables = try database()
        try await onMigrated(tables) { pair in
            try await keyring(pair).loadOrCreate()
            let halves = "SELECT kid, modulus, exponent, public_mac FROM sallyport.keys ORDER BY kid"
            let before = try tables.sql(halves)
            try tables.sql("UPDATE sallyport.keys SET modulus = NULL, exponent = NULL, public_mac = NULL")
            _ = try await keyring(pair).reload()
            #expect(try tables.sql(halves) == before)
        }
    }

    @Test("the longest lifetime that any server gives is written beside the key before it signs, and never shortened")
    func lifetimes() async throws {
        let tables = try database()
        try await onMigrated(tables) { pair in
            func stored() throws -> [[String]] {
                try tables.sql(
                    "SELECT token_lifetime_seconds FROM sallyport.keys WHERE purpose <> 'verdict' ORDER BY purpose")
            }
            try await keyring(pair, lifetimes: [.access: .minutes(30), .refresh: .days(7)]).loadOrCreate()
            #expect(try stored() == [["1800"], ["604800"]])
            _ = try await keyring(pair, lifetimes: [.access: .minutes(5), .refresh: .days(30)]).reload()
            #expect(try stored() == [["1800"], ["2592000"]])
        }
    }

    private func database() throws -> ScratchDatabase { try ScratchCluster.shared.database() }

}

func onMigrated(
    _ scratch: ScratchDatabase, _ body: @escaping @Sendable (LoopDatabases.Pair) async throws -> Void
) async throws {
    try await onLoop(scratch) { main, identity in
        _ = try await MigrationRunner(migrations: Migrations.all).apply(on: main, clock: TestClock())
        try await body(LoopDatabases.Pair(main: main, identity: identity))
    }
}

func keyring(
    _ pair: LoopDatabases.Pair, sealing: KeyEncryptionKeys = FixedKeys.sealing(),
    lifetimes: [KeyPurpose: Duration] = [:]
) -> PostgresKeyring {
    PostgresKeyring(
        databases: LoopDatabases([pair]), sealing: sealing, lifetimes: lifetimes, clock: TestClock(),
        random: SystemRandom(), logger: .disabled)
}

func lifecycle(_ clock: TestClock, sealing: KeyEncryptionKeys = FixedKeys.sealing()) -> KeyLifecycle {
    KeyLifecycle(
        schedule: KeySchedule(publishLead: .minutes(30), rotation: .days(90)), bits: 2_048, sealing: sealing,
        clock: clock, random: SystemRandom(), logger: .disabled)
}
