import AuthTesting
import JSON
import Primitives
import Testing

@Suite("Keys that do not open, and a new key-encryption key", .blocking)
struct KeyEncryptionTests {
    private static func kek(_ byte: UInt8) -> String { Base64.encode([UInt8](repeating: byte, count: 32)) }

    @Test("with the wrong key-encryption key a server does not start, and those that run are not disturbed")
    func wrong() throws {
        let site = try Site()
        let right = try AuthClient(site.serve())
        let keySet = try right.get("/.well-known/jwks.json")
        let pair = try right.signedIn(site.tables.signIn().signed)

        let server = try site.start(settings: ["SALLYPORT_KEK": Self.kek(9)])
        #expect(try server.process.wait() == 1)
        #expect(server.readyLine == nil)
        #expect(server.process.errorText.contains("SALLYPORT_KEK: does not open the keys in the database"))
        // Nothing was made or changed: the right one goes on.
        #expect(try right.get("/readyz").status == 200)
        #expect(try right.refreshed(pair.refresh).generation == 2)
        #expect(try site.run(["keys", "rotate"], settings: ["SALLYPORT_KEK": Self.kek(9)]).status == 1)
        #expect(try right.get("/.well-known/jwks.json").body == keySet.body)
    }

    @Test("a next key that one of two servers cannot open turns that one red before it signs, and both publish it")
    func halfRolledOut() throws {
        let site = try Site()
        let old = try AuthClient(site.serve())
        let new = try AuthClient(site.serve(settings: ["SALLYPORT_KEK": "\(Self.kek(9)),\(site.kek)"]))
        #expect(
            try site.run(["keys", "rotate"], settings: ["SALLYPORT_KEK": "\(Self.kek(9)),\(site.kek)"]).status == 0)
        try KeySets.settle([old, new], beside: new) { $0.count == 2 }
        #expect(try new.get("/readyz").status == 200)
        #expect(waitUntil(limit: .seconds(20)) { (try? old.get("/readyz").status) == 503 })
        #expect(try old.get("/metrics").text.contains("sallyport_unreadable_keys 1.0"))
        // It still signs by the key that it can open.
        _ = try old.signedIn(site.tables.signIn().signed)
    }

    @Test("rewrap moves everything to a new key-encryption key beside a running server, and the old one can go")
    func rewrapped() throws {
        let site = try Site()
        let push = [("X-Device-Push-Token", "push-token-0123456789"), ("X-Device-Push-Provider", "apns")]
        let first = try AuthClient(site.serve())
        let pair = try TokenPair(first.exchange(site.tables.signIn().signed, fields: push))
        let keySet = try first.get("/.well-known/jwks.json").body
        let both = "\(Self.kek(9)),\(site.kek)"
        let second = try AuthClient(site.serve(settings: ["SALLYPORT_KEK": both]))
        let next = try second.refreshed(pair.refresh)

        let early = try site.run(["keys", "rewrap"], settings: ["SALLYPORT_KEK": Self.kek(9)])
        #expect(early.status == 1 && early.errorText.contains("7 values do not open"))
        let done = try site.run(["keys", "rewrap"], settings: ["SALLYPORT_KEK": both])
        #expect(done.status == 0 && done.outputText.contains("7 values sealed anew"), "\(done.errorText)")
        let again = try site.run(["keys", "rewrap"], settings: ["SALLYPORT_KEK": both])
        #expect(again.status == 0 && again.outputText.contains("0 values sealed anew"))
        #expect(try second.refreshed(next.refresh).generation == 3)

        let third = try AuthClient(site.serve(settings: ["SALLYPORT_KEK": Self.kek(9)]))
        #expect(try third.get("/.well-known/jwks.json").body == keySet)
        #expect(try third.get("/readyz").status == 200)
        #expect(try third.refreshed(next.refresh).generation == 3)
        #expect(try third.exchange(site.tables.signIn().signed, fields: push).status == 200)
    }

    @Test(
        "keys of 3072 and 4096 bits are made where the setting says so, and what is there stays",
        arguments: [3_072, 4_096])
    func sizes(bits: Int) throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let command = try site.run(["keys", "rotate"], settings: ["SALLYPORT_KEY_BITS": String(bits)])
        #expect(command.status == 0, "\(command.errorText)")
        try KeySets.settle([client], beside: client) { $0.count == 2 }
        let keys = try #require(client.get("/.well-known/jwks.json").json?["keys"]?.arrayValue)
        let sizes = keys.map { ($0.objectValue?["n"]?.stringValue).flatMap { Base64URL.decode($0) }?.count }
        #expect(sizes == [256, bits / 8])
        #expect(try site.run(["keys", "promote", "--emergency"]).status == 0)
        try KeySets.settle([client], beside: client) {
            $0.count == 2 && $0.first == keys.last?.objectValue?["kid"]?.stringValue
        }
        let pair = try client.signedIn(site.tables.signIn().signed)
        #expect(try client.get("/auth/devices", bearer: pair.access).status == 200)
    }
}
