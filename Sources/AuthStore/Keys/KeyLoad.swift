import AuthDomain
import Crypto
import JOSE
import Postgres
import Primitives

/// The rows of the keys, opened as far as they open. Pure but for the arithmetic.
struct KeyLoad {
    /// A key that was opened before: a private key is parsed and tried once, not at every look.
    struct Opened: Sendable {
        let sealed: [UInt8]
        let key: SigningKey
    }

    private(set) var keyring: Keyring?
    private(set) var published: [JWK] = []
    private(set) var records: [KeyRecord] = []
    /// Names of what does not open, or is not what it says.
    private(set) var unreadable: [String] = []
    private(set) var opened: [String: Opened] = [:]
    /// Opened keys of servers that knew no public half.
    private(set) var withoutPublicHalf: [KeyPair] = []
    /// `nil` when the key of hashes does not open: then no public half can be told from a forged one.
    let hasher: KeyedHasher?

    /// - Parameter known: what is in memory already. Its keys are used also where the row does not open any more: a
    ///   `kid` is made from its key.
    init(
        _ rows: Rows, secret: [UInt8], sealing: KeyEncryptionKeys, known: [String: Opened]
    ) throws(DatabaseError) {
        let context = KeyTable.context(ofSecret: KeyTable.hashSecretName)
        hasher = (try? sealing.open(secret, context: context)).map { KeyedHasher(key: $0) }
        if hasher == nil { unreadable.append(context) }
        var pairs: [KeyPair] = []
        var halves: [PublicHalf] = []
        for row in rows {
            let record = try KeyRecord(row)
            if record.state.isUsable { records.append(record) }
            if record.state.isUsable, let key = try privateKey(record, row, sealing, known) {
                let pair = KeyPair(
                    purpose: record.purpose, state: record.state, privateKey: key, createdAt: record.createdAt,
                    stateAt: record.stateAt)
                pairs.append(pair)
                if try row.isNull("modulus") { withoutPublicHalf.append(pair) }
            } else if let half = try publicHalf(record, row) {
                halves.append(half)
            }
        }
        published = PublicHalf.published(pairs.map(\.publicHalf) + halves)
        if let hasher { keyring = Keyring(pairs, publicHalves: halves, hasher: hasher) }
    }

    private mutating func privateKey(
        _ record: KeyRecord, _ row: Row, _ sealing: KeyEncryptionKeys, _ known: [String: Opened]
    ) throws(DatabaseError) -> SigningKey? {
        let sealed = try row.bytes("sealed_private_key")
        if let before = known[record.kid], before.sealed == sealed {
            opened[record.kid] = before
            return before.key
        }
        let context = KeyTable.context(ofKey: record.kid)
        if let der = try? sealing.open(sealed, context: context), let key = try? SigningKey(pkcs8DER: der.exposed),
            JWK(key.publicKey).kid == record.kid
        {
            opened[record.kid] = Opened(sealed: sealed, key: key)
            return key
        }
        unreadable.append(context)
        guard let before = known[record.kid] else { return nil }
        opened[record.kid] = before
        return before.key
    }

    /// Of a row whose private half is not there or does not open.
    private func publicHalf(_ record: KeyRecord, _ row: Row) throws(DatabaseError) -> PublicHalf? {
        guard let modulus = try row.optionalBytes("modulus"), let exponent = try row.optionalBytes("exponent"),
            let mac = try row.optionalBytes("public_mac"),
            let key = try? RSAPublicKey(modulus: modulus, exponent: exponent)
        else { return nil }
        let jwk = JWK(.rsa(key))
        guard jwk.kid == record.kid else { return nil }
        if let hasher {
            let expected = hasher.publicMAC(kid: record.kid, purpose: record.purpose)
            guard areEqualInConstantTime(mac, expected) else { return nil }
        }
        return PublicHalf(
            purpose: record.purpose, state: record.state, jwk: jwk, createdAt: record.createdAt,
            stateAt: record.stateAt)
    }
}
