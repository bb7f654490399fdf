import AuthDomain
import AuthTesting
import Crypto
import JOSE
import JSON
import Primitives
import Testing

/// What PowerSync Service demands of a token and of the key set that it fetches; an item a test.
@Suite("PowerSync checklist")
struct PowerSyncChecklistTests {
    private let stack = TokenStack(
        keyring: FixedKeys.ring([
            FixedKeys.pair(.access, .next, FixedKeys.nextSigning),
            FixedKeys.pair(.access, .current, FixedKeys.signing),
            FixedKeys.pair(.access, .removed, FixedKeys.foreign),
            FixedKeys.pair(.refresh, .current, FixedKeys.refresh),
            FixedKeys.pair(.verdict, .current, FixedKeys.verdict),
        ]))

    private var keyring: Keyring { get throws { try #require(stack.keys.keyring) } }

    /// The key set as it goes over the wire.
    private var keySet: JSONObject {
        get throws { try #require(try JSONParser.parse(JWKSet.render(keyring.published)).objectValue) }
    }

    private var keys: [JSONObject] {
        get throws { try #require(try keySet["keys"]?.arrayValue).map { try #require($0.objectValue) } }
    }

    private func token() async throws -> DecodedToken { try DecodedToken(try await stack.exchange().accessToken) }

    @Test("1: RS256, a kid that is a published key's, no crit")
    func header() async throws {
        let header = try await token().header
        #expect(header["alg"] == "RS256")
        #expect(header["crit"] == nil)
        let kid = try #require(header["kid"]?.stringValue)
        #expect(!kid.isEmpty)
        #expect(try keys.filter { $0["kid"] == .string(kid) }.count == 1)
    }

    @Test("2: sub is a non-empty text, iat and exp whole seconds, at most a day apart, and no claim of a wrong type")
    func claims() async throws {
        stack.store.setCustomClaims(#"{"parameters":null,"nbf":"soon"}"#)
        let claims = try await token().claims
        #expect(claims["sub"] == "ada")
        let (issued, expires) = (try #require(claims["iat"]?.integerValue), try #require(claims["exp"]?.integerValue))
        #expect(issued == stack.clock.now().secondsSinceEpoch)
        #expect((1...86_400).contains(expires - issued))
        #expect(claims["nbf"] == nil)
        #expect(claims["parameters"] == nil)
    }

    @Test("3: one token for API and sync: both audiences, exactly as configured")
    func audience() async throws {
        #expect(try await token().claims["aud"] == ["https://auth.example.com", "powersync"])
    }

    @Test("4: a key has kty, use, alg, kid, n and e, in base64url, 2048 bits or more, and no private part")
    func keyMembers() throws {
        for key in try keys {
            #expect(key.names.sorted() == ["alg", "e", "kid", "kty", "n", "use"])
            #expect(key["kty"] == "RSA")
            #expect(key["use"] == "sig")
            #expect(key["alg"] == "RS256")
            #expect(key["e"] == "AQAB")
            let modulus = try #require(key["n"]?.stringValue)
            #expect(
                modulus.utf8.allSatisfy {
                    $0 != UInt8(ascii: "=") && $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "/")
                })
            let bytes = try #require(Base64URL.decode(modulus))
            #expect(bytes.count >= 256)
            #expect(bytes.first.map { $0 >= 0x80 } == true)
        }
    }

    @Test("5: every key of the set can be imported, and the set holds access keys alone")
    func importable() throws {
        let bytes = JWKSet.render(try keyring.published)
        #expect(try JWKSet.parse(bytes).keys.count == keys.count)
        #expect(try keySet.names == ["keys"])
        #expect(try keys.count == 2)
        let kids = try keys.compactMap { $0["kid"]?.stringValue }
        #expect(kids.first == JWK(FixedKeys.signing.publicKey).kid)
        for key in [FixedKeys.refresh, FixedKeys.verdict, FixedKeys.foreign] {
            #expect(!kids.contains(JWK(key.publicKey).kid))
        }
    }

    @Test("6: each kid once, the thumbprint of its key")
    func kids() throws {
        let kids = try keys.compactMap { $0["kid"]?.stringValue }
        #expect(Set(kids).count == kids.count)
        #expect(try keys.map { JWKThumbprint.of($0) } == kids)
    }

    @Test("9: a key is published before it signs and after it did: tokens on both sides of a rotation verify")
    func rotation() async throws {
        let before = try await stack.exchange().accessToken
        let publishedBefore = try JWKSet.parse(JWKSet.render(keyring.published))
        stack.keys.set(
            FixedKeys.ring([
                FixedKeys.pair(.access, .current, FixedKeys.nextSigning),
                FixedKeys.pair(.access, .retired, FixedKeys.signing),
                FixedKeys.pair(.refresh, .current, FixedKeys.refresh),
                FixedKeys.pair(.verdict, .current, FixedKeys.verdict),
            ]))
        let after = try await stack.exchange().accessToken
        let publishedAfter = try JWKSet.parse(JWKSet.render(keyring.published))
        #expect(try DecodedToken(before).header["kid"] != DecodedToken(after).header["kid"])
        for token in [before, after] {
            for set in [publishedBefore, publishedAfter] {
                try UnverifiedJWS(token).verifySignature { set[$0] }
            }
        }
    }
}
