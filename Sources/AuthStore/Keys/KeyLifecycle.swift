package import AuthDomain
package import Crypto
import JOSE
package import Postgres
package import Primitives
import Reactor
package import Telemetry

/// Carries out what schedule or operator want of the keys: under an advisory lock, in one transaction, announced to the
/// other servers with its commit. Whoever dies in the middle leaves nothing behind.
package struct KeyLifecycle: Sendable {
    private let schedule: KeySchedule
    private let bits: Int
    private let sealing: KeyEncryptionKeys
    private let clock: any WallClock
    private let random: any RandomSource
    private let logger: Logger

    /// - Parameter bits: of the modulus of new keys.
    package init(
        schedule: KeySchedule, bits: Int, sealing: KeyEncryptionKeys, clock: any WallClock, random: any RandomSource,
        logger: Logger
    ) {
        self.schedule = schedule
        self.bits = bits
        self.sealing = sealing
        self.clock = clock
        self.random = random
        self.logger = logger
    }

    /// Does what is due, unless another server is at it. Returns what was done.
    package func advance(in database: Database) async throws(DatabaseError) -> [KeyStep] {
        let schedule = schedule
        let result = try await act(in: database, waits: false) { records, now in
            .success(schedule.due(records, at: now))
        }
        if case .success(let steps) = result { return steps }
        return []
    }

    /// Does what an operator wants, or says why not.
    package func perform(
        _ command: KeyCommand, in database: Database
    ) async throws(DatabaseError) -> Result<[KeyStep], KeyRefusal> {
        let schedule = schedule
        return try await act(in: database, waits: true) { records, now in
            Result { () throws(KeyRefusal) in try command.steps(records, schedule, at: now) }
        }
    }

    /// All keys there ever were, in the order that they were made.
    package static func records(in database: Database) async throws(DatabaseError) -> [KeyRecord] {
        try KeyTable.records(try await database.read(KeyTable.records))
    }

    // MARK: One act

    private typealias Decide = ([KeyRecord], Timestamp) -> Result<[KeyStep], KeyRefusal>

    /// Decides without the lock first: new keys take long to make, and mostly there is nothing to do.
    private func act(
        in database: Database, waits: Bool, _ decide: Decide
    ) async throws(DatabaseError) -> Result<[KeyStep], KeyRefusal> {
        for _ in 0..<Limits.keyActTriesMax {
            let first = decide(try await Self.records(in: database), clock.now())
            guard case .success(let wanted) = first, !wanted.isEmpty else { return first }
            let made = try await makeKeys(for: wanted)
            let done = try await database.retryingContention { () async throws(DatabaseError) in
                try await attempt(made, in: database, waits: waits, decide)
            }
            guard let done else { continue }
            if case .success(let steps) = done { report(steps, made) }
            return done
        }
        throw .unavailable(.busy)
    }

    /// `nil`: the keys have changed meanwhile so that another new one is needed.
    private func attempt(
        _ made: [KeyPurpose: SigningKey], in database: Database, waits: Bool, _ decide: Decide
    ) async throws(DatabaseError) -> Result<[KeyStep], KeyRefusal>? {
        try await database.transaction { transaction async throws(DatabaseError) in
            guard try await lock(transaction, waits: waits) else { return .success([]) }
            let now = clock.now()
            let decided = decide(try KeyTable.records(try await transaction.run(KeyTable.records)), now)
            guard case .success(let steps) = decided, !steps.isEmpty else { return decided }
            for step in steps {
                if case .make(let purpose, _) = step, made[purpose] == nil { return nil }
            }
            let hasher = made.isEmpty ? nil : try await hasher(transaction)
            for step in steps { try await carryOut(step, made, hasher, at: now, in: transaction) }
            _ = try await transaction.run(KeyTable.notify)
            return decided
        }
    }

    private func lock(_ transaction: Transaction, waits: Bool) async throws(DatabaseError) -> Bool {
        if waits {
            _ = try await transaction.run(KeyTable.lock, [.int64(KeyTable.lockID)])
            return true
        }
        return try await transaction.run(KeyTable.tryLock, [.int64(KeyTable.lockID)]).first?.bool("is_ours") ?? false
    }

    /// Also the proof that this configuration belongs to the database: a key that no server opens must not get in.
    private func hasher(_ transaction: Transaction) async throws(DatabaseError) -> KeyedHasher {
        let rows = try await transaction.run(KeyTable.secret, [.text(KeyTable.hashSecretName)])
        let context = KeyTable.context(ofSecret: KeyTable.hashSecretName)
        guard let sealed = try rows.first?.bytes("sealed_value"),
            let key = try? sealing.open(sealed, context: context)
        else { throw .unavailable(.misconfigured) }
        return KeyedHasher(key: key)
    }

    private func makeKeys(for steps: [KeyStep]) async throws(DatabaseError) -> [KeyPurpose: SigningKey] {
        var made: [KeyPurpose: SigningKey] = [:]
        for case .make(let purpose, _) in steps {
            guard let loop = EventLoop.current else { throw .unavailable(.starting) }
            // Some hundred milliseconds, some seconds for 4096 bits, away from the loop.
            guard
                let key = await loop.offload({ [bits] in (try? RSAPrivateKey.generate(bits: bits)).map(SigningKey.rsa) }
                )
            else {
                throw .unavailable(.exhausted)
            }
            made[purpose] = key
        }
        return made
    }

    private func carryOut(
        _ step: KeyStep, _ made: [KeyPurpose: SigningKey], _ hasher: KeyedHasher?, at now: Timestamp,
        in transaction: Transaction
    ) async throws(DatabaseError) {
        switch step {
        case .make(let purpose, let state):
            guard let key = made[purpose], let hasher else { throw .unavailable(.misconfigured) }
            let pair = KeyPair(purpose: purpose, state: state, privateKey: key, createdAt: now)
            guard
                let values = try? KeyTable.values(of: pair, sealing: sealing, hasher: hasher, random: random, at: now)
            else { throw .unavailable(.misconfigured) }
            _ = try await transaction.run(KeyTable.insert, values)
            try await audit("key_made", pair.kid, reason: state.rawValue, at: now, in: transaction)
        case .promote(let kid):
            for row in try await transaction.run(KeyTable.retireCurrent, [.text(kid), .timestamp(now)]) {
                try await audit("key_retired", try row.text("kid"), at: now, in: transaction)
            }
            _ = try await transaction.run(KeyTable.promote, [.text(kid), .timestamp(now)])
            try await audit("key_promoted", kid, at: now, in: transaction)
        case .remove(let kid):
            try await destroy(kid, .removed, at: now, in: transaction)
        case .compromise(let kid):
            try await destroy(kid, .compromised, at: now, in: transaction)
        }
    }

    private func destroy(
        _ kid: String, _ state: KeyState, at now: Timestamp, in transaction: Transaction
    ) async throws(DatabaseError) {
        _ = try await transaction.run(KeyTable.destroy, [.text(kid), .text(state.rawValue), .timestamp(now)])
        try await audit("key_" + state.rawValue, kid, at: now, in: transaction)
    }

    private func audit(
        _ event: String, _ kid: String, reason: String? = nil, at now: Timestamp, in transaction: Transaction
    ) async throws(DatabaseError) {
        _ = try await transaction.run(
            KeyTable.audit, [.timestamp(now), .text(event), .text(kid), .optional(reason, SQLValue.text)])
    }

    private func report(_ steps: [KeyStep], _ made: [KeyPurpose: SigningKey]) {
        for step in steps {
            switch step {
            case .make(let purpose, let state):
                let kid = made[purpose].map { JWK($0.publicKey).kid } ?? ""
                logger.info(
                    "a key is made",
                    [
                        LogField("key.id", kid), LogField("key.purpose", purpose.rawValue),
                        LogField("key.state", state.rawValue),
                    ])
            case .promote(let kid): logger.info("a key signs from now on", [LogField("key.id", kid)])
            case .remove(let kid): logger.info("a key is removed", [LogField("key.id", kid)])
            case .compromise(let kid): logger.warning("a key is removed as compromised", [LogField("key.id", kid)])
            }
        }
    }
}
