import Crypto
import JOSE
import JSON
import Primitives
import Testing

@Suite("Compact JWS")
struct UnverifiedJWSTests {
    private func token(header: String, payload: String = "{}", signature: String = "AA") -> String {
        Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(payload.utf8)) + "." + signature
    }

    @Test("the parts come out as they were sent")
    func parts() throws {
        let text = token(header: #"{"alg":"RS256","kid":"k","typ":"at+jwt","x":1}"#, payload: "not JSON")
        let jws = try UnverifiedJWS(text)
        #expect(jws.algorithm == "RS256")
        #expect(jws.kid == "k")
        #expect(jws.type == "at+jwt")
        #expect(jws.header["x"] == 1)
        #expect(jws.payload == Array("not JSON".utf8))
        #expect(jws.signature == [0])
        #expect(jws.signingInput == Array(text.utf8.dropLast(3)))
        #expect(try UnverifiedJWS(token(header: #"{"alg":"x"}"#, payload: "")).payload.isEmpty)
    }

    @Test(
        "a header that we do not wholly understand is refused",
        arguments: [
            "", "{}", "[]", "null", #"{"alg":null}"#, #"{"alg":1}"#, #"{"alg":"RS256","alg":"RS256"}"#,
            #"{"alg":"RS256","crit":["exp"],"exp":1}"#, #"{"alg":"RS256","crit":[]}"#, #"{"alg":"RS256","crit":null}"#,
            #"{"alg":"RS256","b64":true}"#, #"{"alg":"RS256","zip":"DEF"}"#, #"{"alg":"RS256","kid":1}"#,
            #"{"alg":"RS256","kid":null}"#, #"{"alg":"RS256","kid":""}"#, #"{"alg":"RS256","kid":"a\u0000"}"#,
            #"{"alg":"RS256","kid":"a\nb"}"#, #"{"alg":"RS256","typ":["JWT"]}"#, #"{"alg":"RS256"} {}"#,
            #"{"alg":"RS256","kid":""# + String(repeating: "k", count: 257) + #""}"#,
        ])
    func headers(header: String) {
        #expect(throws: JOSEError.malformed) { try UnverifiedJWS(token(header: header)) }
    }

    @Test(
        "what is not three parts of base64url is refused",
        arguments: [
            "", ".", "..", "...", "a", "eyJhbGciOiJ4In0", "eyJhbGciOiJ4In0.", "eyJhbGciOiJ4In0..", ".e30.AA",
            "eyJhbGciOiJ4In0.e30", "eyJhbGciOiJ4In0.e30.", "eyJhbGciOiJ4In0.e30.AA.", "eyJhbGciOiJ4In0.e30.AA.AA",
            " eyJhbGciOiJ4In0.e30.AA", "eyJhbGciOiJ4In0.e30.AA\n", "eyJhbGciOiJ4In0.e30.AA=", "eyJhbGciOiJ4In0.e30.AB",
            "eyJhbGciOiJ4In0.e3.AA", "eyJhbGciOiJ4In0=.e30.AA", "eyJhbGciOiJ4In0.e30.é",
        ])
    func shapes(text: String) {
        #expect(throws: JOSEError.malformed) { try UnverifiedJWS(text) }
    }

    @Test("a token of 16 KiB is read, one byte more is not")
    func size() {
        let start = token(header: #"{"alg":"x"}"#, signature: "")
        let room = 16_384 - start.utf8.count
        #expect(room % 4 != 1)
        #expect(throws: Never.self) { try UnverifiedJWS(start + String(repeating: "A", count: room)) }
        #expect(throws: JOSEError.malformed) { try UnverifiedJWS(start + String(repeating: "A", count: room + 1)) }
        #expect(throws: JOSEError.malformed) { try UnverifiedJWS(String(repeating: ".", count: 1_000_000)) }
    }

    @Test("a token does not print")
    func redaction() throws {
        let jws = try UnverifiedJWS(token(header: #"{"alg":"x","kid":"visible"}"#))
        var dumped = ""
        dump(jws, to: &dumped)
        for text in ["\(jws)", String(reflecting: jws), dumped] { #expect(!text.contains("visible")) }
    }
}

@Suite("Algorithms of a JWS")
struct JWSAlgorithmTests {
    private func token(_ algorithm: String, signedBy key: SigningKey) throws -> UnverifiedJWS {
        let header: JSONObject = ["alg": .string(algorithm), "kid": "k"]
        let input = JWS.signingInput(header: header, claims: [:])
        return try UnverifiedJWS(JWS.compact(signingInput: input, signature: try key.sign(input)))
    }

    @Test("a token passes where the caller takes its algorithm and the key has it, and nowhere else")
    func combinations() throws {
        let keys: [SigningKey] = [TestKeys.signing, .p256(try .generate())]
        for key in keys {
            for stated in ["RS256", "ES256"] {
                for taken: Set<SignatureAlgorithm> in [[.rs256], [.es256], [.rs256, .es256], []] {
                    let jws = try token(stated, signedBy: key)
                    let isGood = key.algorithm.rawValue == stated && taken.contains(key.algorithm)
                    let combination = "\(key.algorithm) key, alg \(stated), taken \(taken)"
                    if isGood {
                        #expect(throws: Never.self, "\(combination)") {
                            try jws.verifySignature(algorithms: taken) { _ in key.publicKey }
                        }
                    } else {
                        #expect(throws: JOSEError.algorithmNotAllowed, "\(combination)") {
                            try jws.verifySignature(algorithms: taken) { _ in key.publicKey }
                        }
                    }
                }
            }
        }
    }

    @Test("without a word of the caller an ES256 token is refused")
    func standard() throws {
        let key = SigningKey.p256(try .generate())
        let jws = try token("ES256", signedBy: key)
        #expect(throws: JOSEError.algorithmNotAllowed) { try jws.verifySignature { _ in key.publicKey } }
    }
}
