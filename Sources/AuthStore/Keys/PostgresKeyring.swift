package import AuthDomain
package import Crypto
import Postgres
package import Primitives
import Reactor
package import Telemetry

/// The keys of a deployment: read from the database, kept in memory as one snapshot for all loops.
package final class PostgresKeyring: KeyringSource {
    private let databases: LoopDatabases
    private let sealing: KeyEncryptionKeys
    private let clock: any WallClock
    private let random: any RandomSource
    private let logger: Logger
    private let snapshot = Locked<Keyring?>(nil)

    package init(
        databases: LoopDatabases, sealing: KeyEncryptionKeys, clock: any WallClock, random: any RandomSource,
        logger: Logger
    ) {
        self.databases = databases
        self.sealing = sealing
        self.clock = clock
        self.random = random
        self.logger = logger
    }

    package var keyring: Keyring? { snapshot.withLock { $0 } }

    package func reload() async throws(Unavailability) -> Keyring {
        let loaded = try await reading { () async throws(DatabaseError) in
            let main = databases.current.main
            let keys = main.beginRead(Self.usableKeys)
            let secret = main.beginRead(Self.secret, [.text(Self.hashSecretName)])
            return try self.keyring(try await keys.rows(), secret: try await secret.rows().first)
        }
        guard let loaded else { throw .starting }
        snapshot.withLock { $0 = loaded }
        return loaded
    }

    /// Reads the keys, and makes the first set where there is none. Two servers that start at once make one.
    package func loadOrCreate() async throws(Unavailability) {
        do throws(Unavailability) {
            _ = try await reload()
        } catch .starting {
            try await create()
            _ = try await reload()
        }
    }

    /// The key of signatures of session tokens that a standalone deployment hands out.
    package func identitySecret() async throws(Unavailability) -> Secret<[UInt8]> {
        try await reading { () async throws(DatabaseError) in
            let row = try await databases.current.main.read(
                Self.secret, [.text(Self.identitySecretName)]
            ).first
            guard let row else { throw .unavailable(.misconfigured) }
            return try opened(row.bytes("sealed_value"), "secret:" + Self.identitySecretName)
        }
    }

    private func keyring(_ rows: Rows, secret: Row?) throws(DatabaseError) -> Keyring? {
        guard let secret else { return nil }
        let hashKey = try opened(secret.bytes("sealed_value"), "secret:" + Self.hashSecretName)
        var pairs: [KeyPair] = []
        for row in rows {
            let kid = try row.text("kid")
            let der = try opened(row.bytes("sealed_private_key"), "key:" + kid)
            guard let key = try? RSAPrivateKey(pkcs8DER: der.exposed) else {
                logger.error("a key cannot be read", [LogField("key.id", kid)])
                throw .unavailable(.misconfigured)
            }
            pairs.append(
                KeyPair(
                    purpose: try KeyPurpose(stored: row.text("purpose")),
                    state: try KeyState(stored: row.text("state")), privateKey: key,
                    createdAt: try row.timestamp("created_at")))
        }
        return Keyring(pairs, hasher: KeyedHasher(key: hashKey))
    }

    private func opened(_ sealed: [UInt8], _ context: String) throws(DatabaseError) -> Secret<[UInt8]> {
        do throws(CryptoError) {
            return try sealing.open(sealed, context: context)
        } catch {
            logger.error(
                "a sealed value does not open with SALLYPORT_KEK",
                [LogField("value", context), LogField("reason", "\(error)")])
            throw .unavailable(.misconfigured)
        }
    }

    // MARK: The first set

    private func create() async throws(Unavailability) {
        guard let loop = EventLoop.current else { throw .starting }
        // Some hundred milliseconds of arithmetic, away from the loop.
        let made = await loop.offload {
            KeyPurpose.allCases.compactMap { purpose in
                (try? RSAPrivateKey.generate(bits: 2_048)).map { (purpose, $0) }
            }
        }
        guard made.count == KeyPurpose.allCases.count else { throw .dependency }
        let now = clock.now()
        let pairs = made.map { KeyPair(purpose: $0.0, state: .current, privateKey: $0.1, createdAt: now) }
        let rows = try sealedRows(pairs, at: now)
        try await reading { () async throws(DatabaseError) in
            let main = databases.current.main
            try await main.transaction { transaction async throws(DatabaseError) in
                _ = try await transaction.run(Self.lockKeys, [.int64(Self.lockID)])
                guard try await transaction.run(Self.anyKey).isEmpty else { return }
                for (statement, values) in rows { _ = try await transaction.run(statement, values) }
            }
        }
        logger.info("the first keys are made", [LogField("key.id", pairs[0].kid)])
    }

    private func sealedRows(
        _ pairs: [KeyPair], at now: Timestamp
    ) throws(Unavailability) -> [(Statement, [SQLValue])] {
        do throws(CryptoError) {
            var rows: [(Statement, [SQLValue])] = []
            for pair in pairs {
                let sealed = try sealing.seal(
                    pair.privateKey.pkcs8DER().exposed, context: "key:" + pair.kid, random: random)
                rows.append(
                    (
                        Self.insertKey,
                        [
                            .text(pair.kid), .text(pair.purpose.rawValue), .text(pair.state.rawValue),
                            .bytes(sealed), .timestamp(now),
                        ]
                    ))
            }
            for name in [Self.hashSecretName, Self.identitySecretName] {
                let sealed = try sealing.seal(random.bytes(32), context: "secret:" + name, random: random)
                rows.append((Self.insertSecret, [.text(name), .bytes(sealed), .timestamp(now)]))
            }
            return rows
        } catch {
            throw .misconfigured
        }
    }

    private static let hashSecretName = "keyed-hash"
    private static let identitySecretName = "identity-session"

    /// `pg_advisory_xact_lock` of whoever makes or moves keys: "sallykey" as ASCII.
    private static let lockID: Int64 = 0x7361_6c6c_796b_6579

    private static let usableKeys = Statement(
        "usable_keys",
        """
        SELECT kid, purpose, state, sealed_private_key, created_at FROM sallyport.keys
        WHERE state IN ('next', 'current', 'retired')
        """)

    private static let secret = Statement(
        "secret", "SELECT sealed_value FROM sallyport.secrets WHERE name = $1", [.text])

    private static let lockKeys = Statement("lock_keys", "SELECT pg_advisory_xact_lock($1)", [.int64])

    private static let anyKey = Statement("any_key", "SELECT kid FROM sallyport.keys LIMIT 1")

    private static let insertKey = Statement(
        "insert_key",
        """
        INSERT INTO sallyport.keys (kid, purpose, state, sealed_private_key, created_at, state_at)
        VALUES ($1, $2, $3, $4, $5, $5)
        """, [.text, .text, .text, .bytes, .timestamp])

    private static let insertSecret = Statement(
        "insert_secret", "INSERT INTO sallyport.secrets (name, sealed_value, created_at) VALUES ($1, $2, $3)",
        [.text, .bytes, .timestamp])
}
