import AuthTesting
import Crypto
import Foundation
import JSON
import Primitives
import Testing

@Suite("A dump of the database", .blocking)
struct DumpTests {
    @Test("it holds no private key, no token and no secret in any usable form")
    func secretless() throws {
        let resourceSecret = "resource-server-secret-\(BetterAuthTables.letters(20))"
        let hash = Hex.encode(SHA256.hash(Array(resourceSecret.utf8)))
        let site = try Site(settings: ["SALLYPORT_RESOURCE_SERVERS": "api:\(hash)"])
        let client = try AuthClient(site.serve())
        var forms = SecretForms()
        for text in [site.tables.secret, resourceSecret] { forms.add(text) }
        forms.add(try #require(Base64.decode(site.kek)))
        try use(site, client, &forms)
        #expect(try site.run(["keys", "rotate"]).status == 0)
        #expect(try site.run(["keys", "promote", "--emergency"]).status == 0)
        #expect(try site.run(["keys", "rotate"]).status == 0)
        let sealing = try KeyEncryptionKeys([Secret(try #require(Base64.decode(site.kek)))])
        let rows = try site.database.sql(
            "SELECT kid, encode(sealed_private_key, 'hex') FROM sallyport.keys WHERE sealed_private_key IS NOT NULL")
        #expect(rows.count == 5)
        for row in rows {
            try forms.add(privateKey: sealing.open(Hex.decode(row[1]) ?? [], context: "key:\(row[0])").exposed)
        }
        let secrets = try site.database.sql("SELECT name, encode(sealed_value, 'hex') FROM sallyport.secrets")
        #expect(secrets.count == 2)
        for row in secrets {
            forms.add(try sealing.open(Hex.decode(row[1]) ?? [], context: "secret:\(row[0])").exposed)
        }
        let compromised = try KeySets.kids(of: client)[0]
        #expect(try site.run(["keys", "compromise", compromised]).status == 0)

        let dump = try site.database.dump(schema: "sallyport")
        #expect(dump.contains("INSERT INTO sallyport.device_sessions") && dump.contains(compromised))
        #expect(forms.bytes.count > 80)
        #expect(forms.found(in: dump) == [])
        #expect(SecretForms.privateKeys(in: dump) == [])
    }

    /// What a day brings: exchange with a push token, refreshes with and without a key, an end.
    private func use(_ site: Site, _ client: AuthClient, _ forms: inout SecretForms) throws {
        let session = try site.tables.signIn()
        let push = "push-token-\(BetterAuthTables.letters(40))"
        let first = try TokenPair(
            client.exchange(
                session.signed, fields: [("X-Device-Push-Token", push), ("X-Device-Push-Provider", "fcm")]))
        let key = "idempotency-key-\(BetterAuthTables.letters(20))"
        let second = try client.refreshed(first.refresh, key: key)
        let third = try client.refreshed(second.refresh, key: "another-\(key)")
        let alone = try client.get("/auth/token", bearer: session.signed).text("access_token")
        let other = try client.signedIn(site.tables.signIn().signed, installation: "installation-0002")
        #expect(try client.call("POST", "/auth/sign-out", bearer: other.access).status == 204)
        for text in [session.token, session.signed, push, key, alone] { forms.add(text) }
        for pair in [first, second, third, other] {
            for token in [pair.access, pair.refresh] {
                forms.add(token)
                for part in token.split(separator: ".") { forms.add(String(part)) }
            }
            forms.add(try #require(try pair.refreshClaims["jti"]?.stringValue))
        }
    }

    @Test("the search finds a secret in every form that it names, and a private key that is nobody's")
    func search() throws {
        let der = try RSAPrivateKey.generate(bits: 2_048).pkcs8DER().exposed
        var forms = SecretForms()
        try forms.add(privateKey: der)
        forms.add("a-token-of-some-length-0123456789")
        let numbers = DERIntegers.all(in: der).filter { $0.count >= 64 }
        // n, d, p, q, dp, dq, qi.
        #expect(numbers.count == 7)
        let prime = numbers[2]
        #expect(prime.count == 128)
        let lines = [
            "\\\\x00ff\(Hex.encode(prime))00", Base64.encode([1, 2] + prime + [3]), Base64URL.encode([7] + prime),
            Hex.encode(prime.reversed()), Base64.encode(der), Hex.encode(der), "x a-token-of-some-length-0123456789 y",
            Hex.encode(Array("a-token-of-some-length-0123456789".utf8)),
            Base64.encode(Array("{\"t\":\"a-token-of-some-length-0123456789\"}".utf8)),
        ]
        for line in lines { #expect(!forms.found(in: "INSERT (\(line), 1)").isEmpty, "\(line)") }
        #expect(
            forms.found(in: "INSERT ('\(Hex.encode(numbers[0]))', 'something else of some length 0123456789')") == [])

        let pem = "-----BEGIN PRIVATE KEY-----\n\(Base64.encode(der))\n-----END PRIVATE KEY-----"
        let jwk = "{\"kty\":\"RSA\",\"d\":\"\(Base64URL.encode(numbers[1]))\"}"
        for line in [
            Hex.encode(der), Base64.encode(der), pem, Hex.encode(Array(pem.utf8)), jwk, Hex.encode(Array(jwk.utf8)),
        ] {
            #expect(!SecretForms.privateKeys(in: line).isEmpty, "\(line)")
        }
        #expect(SecretForms.privateKeys(in: Hex.encode(numbers[0]) + " plain text") == [])
    }
}
