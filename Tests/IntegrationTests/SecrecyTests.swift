import AuthTesting
import Crypto
import JSON
import Primitives
import Testing

@Suite("No secret at rest or in a log", .blocking)
struct SecrecyTests {
    @Test("neither the log at debug level nor any table holds a token, a key or a secret")
    func everything() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let session = try site.tables.signIn()
        let push = "push-token-\(BetterAuthTables.letters(40))"
        let first = try TokenPair(
            client.exchange(
                session.signed, fields: [("X-Device-Push-Token", push), ("X-Device-Push-Provider", "apns")]))
        let key = "idempotency-key-\(BetterAuthTables.letters(20))"
        let second = try client.refreshed(first.refresh, key: key)
        let third = try client.refreshed(second.refresh)
        // Ways that fail, too: what is refused must not be written down either.
        _ = try client.refresh(String(third.refresh.dropLast(8)))
        _ = try client.refresh(first.refresh)
        _ = try client.exchange(session.token)
        _ = try client.get("/auth/devices", bearer: String(third.access.dropLast(8)))
        _ = try client.get("/auth/token?token=\(session.token)", bearer: session.signed)
        _ = try client.call("POST", "/auth/sign-out", bearer: third.access)

        let tokens = [first, second, third].flatMap { [$0.access, $0.refresh] }
        var secrets = tokens + tokens.compactMap { $0.split(separator: ".").last.map(String.init) }
        secrets += [push, key, site.kek, site.tables.secret]
        secrets += try [first, second].compactMap { try $0.refreshClaims["jti"]?.stringValue }
        let dump = try self.dump(of: site.database)
        #expect(dump.contains("device_sessions") && dump.contains(first.deviceID))
        for secret in secrets { #expect(!dump.contains(secret), "a table holds a secret") }
        try expectNoPrivateKey(in: dump)
        // Better Auth's own table holds the token; ours hold a keyed hash.
        #expect(!dump.contains(session.token))

        _ = try client.server.stop()
        let log = client.server.log
        #expect(log.split(separator: "\n").count > 8)
        for secret in secrets + [session.token, session.signed] {
            #expect(!log.contains(secret), "the log holds a secret")
        }
        #expect(!log.contains("PRIVATE KEY"))
    }

    @Test("a secret in any encoding would be found by the search")
    func search() throws {
        let site = try Site()
        _ = try site.serve().stop()
        let der = try RSAPrivateKey.generate(bits: 2_048).pkcs8DER().exposed
        try site.database.sql(
            "INSERT INTO sallyport.secrets (name, sealed_value, created_at) VALUES ('leak', '\\x\(Hex.encode(der))', now())"
        )
        let dump = try dump(of: site.database)
        #expect(dump.contains(privateKeyPrefix))
    }

    /// The beginning of PKCS #8 of an RSA key: version 0 and the algorithm's OID; in hex, as bytea is shown.
    private let privateKeyPrefix = "020100300d06092a864886f70d0101010500"

    private func expectNoPrivateKey(in dump: String) throws {
        #expect(!dump.contains("PRIVATE KEY"))
        #expect(!dump.contains(privateKeyPrefix))
        #expect(!dump.contains("MIIE"))
    }

    /// Every row of our schema as text.
    private func dump(of database: ScratchDatabase) throws -> String {
        let tables = try database.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'sallyport'").map { $0[0] }
        #expect(tables.contains("device_sessions"))
        return try tables.map { table in
            "\(table)\n"
                + (try database.sql("SELECT row_to_json(t)::text FROM sallyport.\"\(table)\" t"))
                .map { $0.joined() }.joined(separator: "\n")
        }.joined(separator: "\n")
    }
}
