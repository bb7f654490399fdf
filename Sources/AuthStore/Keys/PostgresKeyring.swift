package import AuthDomain
package import Crypto
package import JOSE
import Postgres
package import Primitives
import Reactor
package import Telemetry

/// The keys of a deployment: read from the database, kept in memory as one snapshot for all loops.
package final class PostgresKeyring: KeyringSource {
    private let databases: LoopDatabases
    private let sealing: KeyEncryptionKeys
    private let lifetimes: [KeyPurpose: Duration]
    private let bits: Int
    private let ageMax: Duration
    private let clock: any WallClock
    private let random: any RandomSource
    private let logger: Logger
    private let snapshot = Locked<Snapshot?>(nil)

    private struct Snapshot: Sendable {
        let keyring: Keyring?
        let published: [JWK]
        let inventory: KeyInventory
        let opened: [String: KeyLoad.Opened]
        /// Whether every published key is one of ours for certain.
        let isProved: Bool
        /// Before the rows were read.
        let readAt: ContinuousClock.Instant
    }

    /// - Parameters:
    ///   - lifetimes: how long this server's tokens live; written beside each key before it signs any.
    ///   - bits: of the modulus of keys made here.
    ///   - ageMax: keys in memory that are older are read again before they are used; `nil` is what the domain allows.
    package init(
        databases: LoopDatabases, sealing: KeyEncryptionKeys, lifetimes: [KeyPurpose: Duration] = [:],
        bits: Int = 2_048, ageMax: Duration? = nil, clock: any WallClock, random: any RandomSource, logger: Logger
    ) {
        self.databases = databases
        self.sealing = sealing
        self.lifetimes = lifetimes
        self.bits = bits
        self.ageMax = ageMax ?? Limits.keyringAgeMax
        self.clock = clock
        self.random = random
        self.logger = logger
    }

    package var keyring: Keyring? { snapshot.withLock { $0?.keyring } }

    package var published: [JWK]? {
        snapshot.withLock { $0?.published }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether the database has keys of which a part does not open, and nothing can be signed.
    package var isSealedByAnotherKey: Bool {
        snapshot.withLock { $0.map { $0.keyring == nil && !$0.inventory.unreadable.isEmpty } ?? false }
    }

    package var inventory: KeyInventory? { snapshot.withLock { $0?.inventory } }

    package func current() async throws(Unavailability) -> Keyring {
        let readAt = snapshot.withLock { $0?.readAt }
        if let readAt, ContinuousClock.now - readAt > ageMax { return try await reload() }
        return try required()
    }

    package func reload() async throws(Unavailability) -> Keyring {
        let readAt = ContinuousClock.now
        let known = snapshot.withLock { $0?.opened } ?? [:]
        let loaded = try await reading { () async throws(DatabaseError) in
            let main = databases.current.main
            let keys = main.beginRead(KeyTable.loadable)
            let secret = main.beginRead(KeyTable.secret, [.text(KeyTable.hashSecretName)])
            let rows = try await keys.rows()
            guard let secret = try await secret.rows().first else { return KeyLoad?.none }
            let loaded = try KeyLoad(
                rows, secret: try secret.bytes("sealed_value"), sealing: sealing, known: known)
            try await complete(loaded, in: main)
            return loaded
        }
        guard let loaded else { throw .starting }
        keep(loaded, readAt)
        return try required()
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
                KeyTable.secret, [.text(KeyTable.identitySecretName)]
            ).first
            guard let row else { throw .unavailable(.misconfigured) }
            let context = KeyTable.context(ofSecret: KeyTable.identitySecretName)
            guard let secret = try? sealing.open(try row.bytes("sealed_value"), context: context) else {
                report([context])
                throw .unavailable(.misconfigured)
            }
            return secret
        }
    }

    /// What the database has to know before a key of it is used here.
    private func complete(_ loaded: KeyLoad, in main: Database) async throws(DatabaseError) {
        for (purpose, lifetime) in lifetimes {
            let isLonger = loaded.records.contains {
                $0.purpose == purpose && $0.state != .retired && $0.tokenLifetime < lifetime
            }
            guard isLonger else { continue }
            _ = try await main.write(
                KeyTable.raiseTokenLifetime, [.text(purpose.rawValue), .int64(lifetime.wholeSeconds)])
        }
        guard let hasher = loaded.hasher else { return }
        for pair in loaded.withoutPublicHalf {
            guard case .rsa(let key) = pair.jwk.key else { continue }
            let mac = hasher.publicMAC(kid: pair.kid, purpose: pair.purpose)
            _ = try await main.write(
                KeyTable.addPublicHalf,
                [.text(pair.kid), .bytes(key.modulus), .bytes(key.exponent), .bytes(mac)])
        }
    }

    /// An older look never replaces a newer one: two may be on their way.
    private func keep(_ loaded: KeyLoad, _ readAt: ContinuousClock.Instant) {
        let news = snapshot.withLock { snapshot -> [String] in
            if let snapshot, snapshot.readAt > readAt { return [] }
            let before = snapshot?.inventory.unreadable ?? []
            // Without the key of hashes a public half may be anybody's: what was proved before stays. Where nothing was,
            // this server has the wrong key-encryption keys altogether, and the key set must be served all the same.
            let kept = loaded.hasher == nil ? snapshot.flatMap { $0.isProved ? $0 : nil } : nil
            snapshot = Snapshot(
                keyring: kept?.keyring ?? loaded.keyring, published: kept?.published ?? loaded.published,
                inventory: KeyInventory(records: loaded.records, unreadable: loaded.unreadable),
                opened: loaded.opened, isProved: kept != nil || loaded.hasher != nil, readAt: readAt)
            return loaded.unreadable.filter { !before.contains($0) }
        }
        report(news)
    }

    private func report(_ unreadable: [String]) {
        for name in unreadable {
            logger.error("a sealed value does not open with SALLYPORT_KEK", [LogField("value", name)])
        }
    }

    // MARK: The first set

    private func create() async throws(Unavailability) {
        guard let loop = EventLoop.current else { throw .starting }
        // Some hundred milliseconds of arithmetic, away from the loop.
        let made = await loop.offload { [bits] in
            KeyPurpose.allCases.compactMap { purpose in
                (try? RSAPrivateKey.generate(bits: bits)).map { (purpose, SigningKey.rsa($0)) }
            }
        }
        guard made.count == KeyPurpose.allCases.count else { throw .dependency }
        let now = clock.now()
        let pairs = made.map { KeyPair(purpose: $0.0, state: .current, privateKey: $0.1, createdAt: now) }
        let rows = try sealedRows(pairs, at: now)
        let isOurs = try await reading { () async throws(DatabaseError) in
            let main = databases.current.main
            return try await main.transaction { transaction async throws(DatabaseError) in
                _ = try await transaction.run(KeyTable.lock, [.int64(KeyTable.lockID)])
                guard try await transaction.run(KeyTable.records).isEmpty else { return false }
                for (statement, values) in rows { _ = try await transaction.run(statement, values) }
                return true
            }
        }
        if isOurs { logger.info("the first keys are made", [LogField("key.id", pairs[0].kid)]) }
    }

    private func sealedRows(
        _ pairs: [KeyPair], at now: Timestamp
    ) throws(Unavailability) -> [(Statement, [SQLValue])] {
        let hashKey = Secret(random.bytes(32))
        let hasher = KeyedHasher(key: hashKey)
        do throws(CryptoError) {
            var rows: [(Statement, [SQLValue])] = []
            for pair in pairs {
                rows.append(
                    (
                        KeyTable.insert,
                        try KeyTable.values(of: pair, sealing: sealing, hasher: hasher, random: random, at: now)
                    ))
            }
            for (name, secret) in [
                (KeyTable.hashSecretName, hashKey), (KeyTable.identitySecretName, Secret(random.bytes(32))),
            ] {
                let sealed = try sealing.seal(
                    secret.exposed, context: KeyTable.context(ofSecret: name), random: random)
                rows.append((KeyTable.insertSecret, [.text(name), .bytes(sealed), .timestamp(now)]))
            }
            return rows
        } catch {
            throw .misconfigured
        }
    }
}
