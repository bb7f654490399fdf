package import AuthDomain
package import Crypto
package import Primitives

/// RSA keys made once for the whole test process, each at its first use: making one takes some 0.1 s.
package enum FixedKeys {
    package static let signing = made()
    package static let nextSigning = made()
    package static let refresh = made()
    package static let nextRefresh = made()
    package static let verdict = made()
    package static let nextVerdict = made()
    package static let thirdVerdict = made()
    /// In no keyring.
    package static let foreign = made()

    package static let createdAt = Timestamp(secondsSinceEpoch: 1_790_000_000)

    package static let hasher = KeyedHasher(key: Secret([UInt8](repeating: 0x5a, count: 32)))

    /// One current key of each purpose.
    package static let keyring = ring(pairs)

    package static var pairs: [KeyPair] {
        [pair(.access, .current, signing), pair(.refresh, .current, refresh), pair(.verdict, .current, verdict)]
    }

    package static func pair(
        _ purpose: KeyPurpose, _ state: KeyState, _ key: SigningKey, createdAt: Timestamp = createdAt,
        stateAt: Timestamp? = nil
    ) -> KeyPair {
        KeyPair(purpose: purpose, state: state, privateKey: key, createdAt: createdAt, stateAt: stateAt)
    }

    /// - Precondition: a current key of each purpose.
    package static func ring(_ pairs: [KeyPair], publicHalves: [PublicHalf] = []) -> Keyring {
        guard let ring = Keyring(pairs, publicHalves: publicHalves, hasher: hasher) else {
            preconditionFailure("a purpose has no current key")
        }
        return ring
    }

    package static func sealing(_ byte: UInt8 = 0x4b) -> KeyEncryptionKeys {
        do {
            return try KeyEncryptionKeys([Secret([UInt8](repeating: byte, count: 32))])
        } catch {
            preconditionFailure("a key of 32 bytes is a key: \(error)")
        }
    }

    private static func made() -> SigningKey {
        do {
            return .rsa(try .generate(bits: 2_048))
        } catch {
            preconditionFailure("no RSA key: \(error)")
        }
    }
}

/// The keys of a test: what is in memory, and what a look at the database finds.
package final class FixedKeyring: KeyringSource {
    private struct State {
        var inMemory: Keyring?
        var stored: Keyring?
        var reloads = 0
        var inventory: KeyInventory?
    }

    private let state: Locked<State>
    private let faults: PortFaults

    /// - Parameter inMemory: `nil` is the time before the first load.
    package init(_ inMemory: Keyring? = FixedKeys.keyring, faults: PortFaults = PortFaults()) {
        state = Locked(State(inMemory: inMemory, stored: inMemory))
        self.faults = faults
    }

    package var keyring: Keyring? { state.withLock { $0.inMemory } }

    package var inventory: KeyInventory? { state.withLock { $0.inventory } }

    package func setInventory(_ inventory: KeyInventory?) { state.withLock { $0.inventory = inventory } }

    /// How often the keys were looked up anew.
    package var reloads: Int { state.withLock { $0.reloads } }

    /// What every server has in memory from now on.
    package func set(_ keyring: Keyring?) {
        state.withLock { state in
            state.inMemory = keyring
            state.stored = keyring
        }
    }

    /// What the next reload finds: another server has changed the keys.
    package func setStored(_ keyring: Keyring?) { state.withLock { $0.stored = keyring } }

    package func reload() async throws(Unavailability) -> Keyring {
        try await faults.enter(.reloadKeys)
        let found = state.withLock { state in
            state.reloads += 1
            state.inMemory = state.stored
            return state.stored
        }
        guard let found else { throw .starting }
        try await faults.leave(.reloadKeys)
        return found
    }
}
