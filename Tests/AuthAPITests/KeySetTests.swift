import AuthDomain
import AuthTesting
import Crypto
import HTTP
import JOSE
import JSON
import Primitives
import Testing

@testable import AuthAPI

@Suite("Key set")
struct KeySetTests {
    private let world = World()
    private static let path = "/.well-known/jwks.json"

    @Test("it has the contract's head, and nothing but the public members of the published keys")
    func whole() async throws {
        let reply = try await world.send("GET", Self.path)
        let body = try reply.ok()
        #expect(body.names == ["keys"])
        let keys = try #require(body["keys"]?.arrayValue).compactMap(\.objectValue)
        #expect(keys == FixedKeys.keyring.published.map(\.json))
        #expect(keys.first?.names == ["kty", "use", "alg", "kid", "n", "e"])
        #expect(
            reply.field("cache-control") == "public, max-age=300, stale-while-revalidate=60, stale-if-error=3600")
        #expect(reply.field("access-control-allow-origin") == "*")
        #expect(reply.field("etag") == "\"\(Base64URL.encode(SHA256.hash(reply.response.content)))\"")
    }

    @Test(
        "a cache that has it gets 304 with the same tag and rules",
        arguments: ["T", "\"other\", T", "W/T", "*", " * ", "\"a,b\",T", ",,T"])
    func notModified(condition: String) async throws {
        let tag = try #require(try await world.send("GET", Self.path).field("etag"))
        for method in ["GET", "HEAD"] {
            let reply = try await world.send(
                method, Self.path, ["If-None-Match: \(condition.replacing("T", with: tag))"])
            #expect(reply.status == 304)
            #expect(reply.response.content.isEmpty)
            #expect(reply.field("etag") == tag)
            #expect(
                reply.field("cache-control")
                    == "public, max-age=300, stale-while-revalidate=60, stale-if-error=3600")
            #expect(reply.field("access-control-allow-origin") == "*")
        }
    }

    @Test(
        "any other condition gets the whole", arguments: ["\"other\"", "T-", "\"*\"", "*, *", "w/T", "T", "", "\"open"])
    func modified(condition: String) async throws {
        // `T` stands for the tag without its quotes here.
        let tag = try #require(try await world.send("GET", Self.path).field("etag")).replacing("\"", with: "")
        let reply = try await world.send("GET", Self.path, ["If-None-Match: \(condition.replacing("T", with: tag))"])
        #expect(reply.status == 200)
    }

    @Test("HEAD has the fields of GET")
    func head() async throws {
        let (get, head) = (try await world.send("GET", Self.path), try await world.send("HEAD", Self.path))
        #expect(head.status == 200)
        for name in ["content-type", "etag", "cache-control"] { #expect(head.field(name) == get.field(name)) }
    }

    @Test("before the first key it is 503 and never an empty set")
    func starting() async throws {
        let world = World(keyring: nil)
        let reply = try await world.send("GET", Self.path)
        try reply.isRefusal(503, "temporarily_unavailable", "starting", "retry")
        #expect(reply.field("etag") == nil)
        world.keys.set(FixedKeys.keyring)
        #expect(try await world.send("GET", Self.path).status == 200)
    }

    @Test("it follows the keys, the signing key first, and has another tag then")
    func rotation() async throws {
        let first = try await world.send("GET", Self.path)
        let next = FixedKeys.pair(.access, .current, FixedKeys.nextSigning)
        let old = FixedKeys.pair(.access, .retired, FixedKeys.signing)
        let others = FixedKeys.pairs.filter { $0.purpose != .access }
        world.keys.set(FixedKeys.ring([old, next] + others))
        let second = try await world.send("GET", Self.path)
        let kids = try #require(try second.ok()["keys"]?.arrayValue).map { $0.objectValue?["kid"]?.stringValue }
        #expect(kids == [next.kid, old.kid])
        #expect(second.field("etag") != first.field("etag"))
        world.keys.set(FixedKeys.ring([next] + others))
        let third = try await world.send("GET", Self.path)
        #expect(try third.ok()["keys"]?.arrayValue?.count == 1)
        // As many keys as before, and another one.
        world.keys.set(FixedKeys.ring(FixedKeys.pairs))
        #expect(try await world.send("GET", Self.path).field("etag") == first.field("etag"))
    }

    @Test("it needs no store at all")
    func withoutStore() async throws {
        world.faults.failAlways(.dependency)
        #expect(try await world.send("GET", Self.path).status == 200)
        #expect(world.faults.calls.isEmpty)
    }
}
