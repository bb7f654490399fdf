import AuthDomain
import Crypto
import JOSE
import Postgres
import Primitives

/// Statements and rows of `sallyport.keys`.
enum KeyTable {
    /// Whoever makes or moves keys holds this advisory lock: "sallykey" as ASCII.
    static let lockID: Int64 = 0x7361_6c6c_796b_6579
    static let hashSecretName = "keyed-hash"
    static let identitySecretName = "identity-session"

    static func context(ofKey kid: String) -> String { "key:" + kid }
    static func context(ofSecret name: String) -> String { "secret:" + name }

    /// All there ever were: some a year.
    static let records = Statement(
        "key_records",
        """
        SELECT kid, purpose, state, created_at, state_at, token_lifetime_seconds FROM sallyport.keys
        ORDER BY created_at, kid
        """)

    /// What a server needs: of keys that are gone the public halves, to tell what they were from what is foreign.
    static let loadable = Statement(
        "loadable_keys",
        """
        SELECT kid, purpose, state, created_at, state_at, token_lifetime_seconds, sealed_private_key, modulus, exponent,
            public_mac
        FROM sallyport.keys
        """)

    static let secret = Statement(
        "secret", "SELECT sealed_value FROM sallyport.secrets WHERE name = $1", [.text])

    /// Waits for whoever holds it.
    static let lock = Statement("lock_keys", "SELECT pg_advisory_xact_lock($1)", [.int64])

    static let tryLock = Statement(
        "try_lock_keys", "SELECT pg_try_advisory_xact_lock($1) AS is_ours", [.int64])

    /// Reaches the other servers with the commit.
    static let notify = Statement("notify_keys", "SELECT pg_notify('sallyport_keys', '')")
    static let listen: StaticString = "LISTEN sallyport_keys"

    static let insert = Statement(
        "insert_key",
        """
        INSERT INTO sallyport.keys (kid, purpose, state, sealed_private_key, created_at, state_at, modulus, exponent,
            public_mac, token_lifetime_seconds)
        VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8, 0)
        """, [.text, .text, .text, .bytes, .timestamp, .bytes, .bytes, .bytes])

    static let retireCurrent = Statement(
        "retire_current_key",
        """
        UPDATE sallyport.keys SET state = 'retired', state_at = $2 WHERE state = 'current'
            AND purpose = (SELECT purpose FROM sallyport.keys WHERE kid = $1) RETURNING kid
        """, [.text, .timestamp])

    static let promote = Statement(
        "promote_key", "UPDATE sallyport.keys SET state = 'current', state_at = $2 WHERE kid = $1 AND state = 'next'",
        [.text, .timestamp])

    static let destroy = Statement(
        "destroy_key",
        "UPDATE sallyport.keys SET state = $2, state_at = $3, sealed_private_key = NULL WHERE kid = $1",
        [.text, .text, .timestamp])

    static let addPublicHalf = Statement(
        "add_public_half",
        """
        UPDATE sallyport.keys SET modulus = $2, exponent = $3, public_mac = $4 WHERE kid = $1 AND modulus IS NULL
        """, [.text, .bytes, .bytes, .bytes])

    static let raiseTokenLifetime = Statement(
        "raise_token_lifetime",
        """
        UPDATE sallyport.keys SET token_lifetime_seconds = $2
        WHERE purpose = $1 AND state IN ('next', 'current') AND token_lifetime_seconds < $2
        """, [.text, .int64])

    static let insertSecret = Statement(
        "insert_secret", "INSERT INTO sallyport.secrets (name, sealed_value, created_at) VALUES ($1, $2, $3)",
        [.text, .bytes, .timestamp])

    static let audit = Statement(
        "audit_key", "INSERT INTO sallyport.audit_events (at, event, kid, reason) VALUES ($1, $2, $3, $4)",
        [.timestamp, .text, .text, .text])

    static func records(_ rows: Rows) throws(DatabaseError) -> [KeyRecord] {
        var records: [KeyRecord] = []
        for row in rows { records.append(try KeyRecord(row)) }
        return records
    }

    static func values(
        of pair: KeyPair, sealing: KeyEncryptionKeys, hasher: KeyedHasher, random: any RandomSource, at now: Timestamp
    ) throws(CryptoError) -> [SQLValue] {
        let sealed = try sealing.seal(
            pair.privateKey.pkcs8DER().exposed, context: context(ofKey: pair.kid), random: random)
        // The columns of a row are an RSA key's: our own tokens have no other algorithm.
        guard case .rsa(let key) = pair.jwk.key else { throw .keyRefused }
        return [
            .text(pair.kid), .text(pair.purpose.rawValue), .text(pair.state.rawValue), .bytes(sealed), .timestamp(now),
            .bytes(key.modulus), .bytes(key.exponent), .bytes(hasher.publicMAC(kid: pair.kid, purpose: pair.purpose)),
        ]
    }
}

extension KeyRecord {
    init(_ row: Row) throws(DatabaseError) {
        self.init(
            kid: try row.text("kid"), purpose: try KeyPurpose(stored: row.text("purpose")),
            state: try KeyState(stored: row.text("state")), createdAt: try row.timestamp("created_at"),
            stateAt: try row.timestamp("state_at"),
            tokenLifetime: .seconds(try row.int64("token_lifetime_seconds")))
    }
}
