import Crypto
import JOSE
import JSON
import Primitives
import Testing

@Suite("JWK and JWK set")
struct JWKTests {
    private let jwk = JWK(TestKeys.signing.publicKey)

    @Test("a published key has exactly six members, in their order")
    func members() throws {
        #expect(jwk.json.names == ["kty", "use", "alg", "kid", "n", "e"])
        #expect(jwk.json["kty"] == "RSA")
        #expect(jwk.json["use"] == "sig")
        #expect(jwk.json["alg"] == "RS256")
        #expect(jwk.json["e"] == "AQAB")
        let modulus = try #require(Base64URL.decode(try jwk.json.text("n")))
        #expect(modulus.count == 256)
        #expect(modulus.first != 0)
        #expect(jwk.json["kid"]?.stringValue == JWKThumbprint.of(jwk.json))
    }

    @Test("a P-256 key has its seven members, is read back under its thumbprint, and needs whole coordinates")
    func ellipticCurve() throws {
        let jwk = JWK(.p256(try P256PrivateKey.generate().publicKey))
        #expect(jwk.json.names == ["kty", "use", "alg", "kid", "crv", "x", "y"])
        #expect(jwk.json["alg"] == "ES256")
        #expect(jwk.kid == JWKThumbprint.of(jwk.json))
        #expect(try JWKSet.parse(JWKSet.render([jwk])).keys == [jwk])
        let x = try #require(Base64URL.decode(try jwk.json.text("x")))
        let refused: [(String, JSONValue?)] = [
            ("crv", nil), ("crv", "P-384"), ("crv", "p-256"), ("alg", "RS256"), ("alg", "ES384"), ("kty", "RSA"),
            ("y", nil), ("y", jwk.json["x"]), ("x", .string(Base64URL.encode([0] + x))),
            ("x", .string(Base64URL.encode(Array(x.dropFirst())))), ("x", 1), ("use", "enc"),
        ]
        for (name, value) in refused {
            var json = jwk.json
            json[name] = value
            #expect(try JWKSet.parse(JSONObject([("keys", [.object(json)])]).encoded()).isEmpty, "\(name)")
        }
    }

    @Test("a rendered set is read back, the first key first")
    func roundTrip() throws {
        let other = JWK(TestKeys.other.publicKey)
        let bytes = JWKSet.render([jwk, other])
        #expect(String(decoding: bytes, as: UTF8.self).hasPrefix(#"{"keys":[{"kty":"RSA","use":"sig","alg":"RS256""#))
        let set = try JWKSet.parse(bytes)
        #expect(set.keys == [jwk, other])
        #expect(set[jwk.kid] == jwk.key)
        #expect(set["unknown"] == nil)
        #expect(set[jwk.kid.lowercased()] == nil)
        #expect(JWKSet.render([]) == Array(#"{"keys":[]}"#.utf8))
    }

    @Test("thumbprints of RFC 7638 and RFC 8037, and of every kind of key")
    func thumbprints() throws {
        let rsa: JSONObject = [
            "alg": "RS256", "kty": "RSA", "kid": "2011-04-29", "e": "AQAB",
            "n": .string(
                "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1"
                    + "L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4"
                    + "QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbO"
                    + "pbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csF"
                    + "Cur-kEgU8awapJzKnqDKgw"),
        ]
        #expect(JWKThumbprint.of(rsa) == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
        let okp: JSONObject = [
            "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "d": "ignored",
        ]
        #expect(JWKThumbprint.of(okp) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
        let ec: JSONObject = ["y": "Y", "x": "X", "kty": "EC", "crv": "P-256"]
        let expected = SHA256.hash(Array(#"{"crv":"P-256","kty":"EC","x":"X","y":"Y"}"#.utf8))
        #expect(JWKThumbprint.of(ec) == Base64URL.encode(expected))
    }

    @Test(
        "a key without its required members has no thumbprint",
        arguments: [
            [:], ["kty": "RSA", "e": "AQAB"], ["kty": "RSA", "e": 3, "n": "AQ"],
            ["kty": "EC", "crv": "P-256", "x": "X"],
            ["kty": "rsa", "e": "AQAB", "n": "AQ"], ["kty": "OKP", "x": "X"],
        ] as [JSONObject])
    func noThumbprint(jwk: JSONObject) {
        #expect(JWKThumbprint.of(jwk) == nil)
    }

    @Test(
        "a key that does not say that it checks RS256 is left out",
        arguments: [
            ("kty", "EC"), ("kty", nil), ("use", "enc"), ("use", ""), ("use", .null), ("alg", "RS512"),
            ("alg", "rs256"), ("alg", .null), ("key_ops", []), ("key_ops", ["sign"]), ("key_ops", "verify"),
            ("kid", nil), ("kid", ""), ("kid", 1), ("n", nil), ("n", 3), ("n", ""), ("n", "AQ=="), ("e", nil),
            ("e", "AQ"), ("e", "AA"), ("e", "Ag"), ("e", 65537),
        ] as [(String, JSONValue?)])
    func unusable(name: String, value: JSONValue?) throws {
        var json = jwk.json
        json[name] = value
        #expect(try JWKSet.parse(JSONObject([("keys", [.object(json)])]).encoded()).isEmpty)
    }

    @Test(
        "members that say nothing against it leave a key usable",
        arguments: [
            ("use", nil), ("alg", nil), ("key_ops", ["verify"]), ("key_ops", ["sign", "verify"]), ("x5c", ["AA"]),
            ("d", "AQAB"), ("e", "AAEAAQ"), ("kid", "another name"),
        ] as [(String, JSONValue?)])
    func usable(name: String, value: JSONValue?) throws {
        var json = jwk.json
        json[name] = value
        let set = try JWKSet.parse(JSONObject([("keys", [nil, 1, .object(json), ["kty": "oct"]])]).encoded())
        #expect(set.keys.map(\.key) == [jwk.key])
    }

    @Test("a key listed twice counts once, one name for two keys counts for none")
    func repetition() throws {
        var other = JWK(TestKeys.other.publicKey).json
        other["kid"] = .string(jwk.kid)
        let twice: JSONObject = ["keys": [.object(jwk.json), .object(jwk.json)]]
        #expect(try JWKSet.parse(twice.encoded()).kids == [jwk.kid])
        let ambiguous: JSONObject = ["keys": [.object(jwk.json), .object(other), .object(jwk.json)]]
        #expect(try JWKSet.parse(ambiguous.encoded()).isEmpty)
    }

    @Test(
        "what is no key set is refused",
        arguments: [
            "", "null", "[]", "{}", #"{"keys":null}"#, #"{"keys":{}}"#, #"{"keys":[],"keys":[]}"#, #"{"keys":[]"#,
            "<html></html>", #"{"keys":[]}x"#,
        ])
    func noSet(text: String) {
        #expect(throws: JOSEError.malformed) { try JWKSet.parse(Array(text.utf8)) }
    }

    @Test("a set over 256 KiB is refused")
    func size() {
        let text = #"{"keys":[],"x":""# + String(repeating: "x", count: 262_144) + #""}"#
        #expect(throws: JOSEError.malformed) { try JWKSet.parse(Array(text.utf8)) }
    }
}
