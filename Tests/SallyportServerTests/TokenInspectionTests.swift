import AuthDomain
import AuthTesting
import Crypto
import JOSE
import JSON
import Primitives
import Testing

@testable import SallyportServer

@Suite("Token inspection")
struct TokenInspectionTests {
    private static let issuer = "https://auth.example.com"
    private static let now = FixedKeys.createdAt + .days(1)
    private static let seconds = now.secondsSinceEpoch

    private static func token(
        _ changes: [(String, JSONValue?)] = [], type: String? = "at+jwt", kid: String? = nil,
        by key: SigningKey = FixedKeys.signing
    ) throws -> String {
        var claims: JSONObject = [
            "iss": .string(issuer), "sub": "user-1", "aud": [.string(issuer), "powersync"],
            "iat": .integer(seconds - 700), "exp": .integer(seconds + 1_790), "jti": "j", "sid": "s",
        ]
        for (name, value) in changes { claims[name] = value }
        var header = JWTHeader(type: type ?? "", kid: kid ?? JWK(key.publicKey).kid).json
        if type == nil { header["typ"] = nil }
        let input = JWS.signingInput(header: header, claims: claims)
        return JWS.compact(signingInput: input, signature: try key.sign(input))
    }

    private func fault(_ token: String, keys: VerificationKeys? = nil, issuer: String? = issuer) throws -> String? {
        var expectation = TokenExpectation(keys: keys ?? VerificationKeys(FixedKeys.keyring), now: Self.now)
        expectation.issuer = issuer
        expectation.audiences = issuer.map { [$0, "powersync"] } ?? []
        return expectation.fault(of: try TokenText(token))
    }

    @Test("a good token of each kind is good by the database's keys")
    func good() throws {
        #expect(try fault(Self.token()) == nil)
        #expect(try fault(Self.token([("aud", "powersync")])) == nil)
        let refresh = try Self.token(
            [("aud", .string(Self.issuer + "/auth/token")), ("gen", 1)], type: "rt+jwt", by: FixedKeys.refresh)
        #expect(try fault(refresh) == nil)
        let verdict = try Self.token(
            [("aud", nil), ("exp", nil), ("sub", nil)], type: "verdict+jwt", by: FixedKeys.verdict)
        #expect(try fault(verdict) == nil)
        #expect(try fault(Self.token([("iss", "https://elsewhere.example")]), issuer: nil) == nil)
    }

    @Test(
        "each failure has a sentence that names it",
        arguments: [
            ("exp", JSONValue.integer(seconds - 600), "It expired 10 min ago"),
            ("exp", .integer(seconds * 1_000), "The claim exp is in milliseconds"),
            ("exp", .string("soon"), "The claim exp is a text"), ("exp", nil, "The claim exp is missing"),
            ("exp", .integer(seconds - 800), "It ends before it begins"),
            ("iat", .integer(seconds + 300), "It is from the future"), ("iat", nil, "The claim iat is missing"),
            ("nbf", .integer(seconds + 300), "It is from the future"),
            ("iss", "https://other.example", "Its issuer is https://other.example and not"),
            ("iss", "https://auth.example.com/", "They differ in the slash at the end"),
            ("iss", nil, "It names no issuer"), ("aud", "someone", "It is for someone and not for"),
            ("aud", "https://auth.example.com/", "They differ in the slash at the end"),
            ("aud", nil, "It is for nobody"), ("sub", 7, "The claim sub is empty or no text"),
            ("sub", nil, "The claim sub is missing"),
        ] as [(String, JSONValue?, String)])
    func sentences(claim: String, value: JSONValue?, sentence: String) throws {
        let found = try #require(try fault(Self.token([(claim, value)])))
        #expect(found.contains(sentence), "\(found)")
    }

    @Test("so has each way to be signed by somebody else")
    func signatures() throws {
        #expect(try #require(try fault(Self.token(by: FixedKeys.foreign))).contains("No key has its kid"))
        let kid = JWK(FixedKeys.signing.publicKey).kid
        let forged = try Self.token(kid: kid, by: FixedKeys.foreign)
        #expect(try #require(try fault(forged)).contains("The signature does not fit"))
        let published = VerificationKeys(JWKSet(FixedKeys.keyring.published), from: "the file")
        #expect(try fault(Self.token(), keys: published) == nil)
        let refresh = try Self.token(type: "rt+jwt", by: FixedKeys.refresh)
        #expect(try #require(try fault(refresh, keys: published)).contains("keys that are not published"))
        #expect(try fault(Self.token(type: "JWT")) == nil)
        #expect(try #require(try fault(Self.token(type: "dpop+jwt"))).contains("its typ is dpop+jwt"))
        #expect(try #require(try fault(Self.token(type: nil))).contains("it has no typ"))
        // A refresh token under the name of an access token: its key signs none.
        let disguised = try Self.token(by: FixedKeys.refresh)
        #expect(try #require(try fault(disguised)).contains("No key has its kid"))
    }

    private static func parts(_ header: String, _ payload: String = "{}", _ signature: String = "AAAA") -> String {
        Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(Array(payload.utf8)) + "." + signature
    }

    @Test(
        "what is no token is named for what it is",
        arguments: [
            ("", "There is no token"), ("   \n", "There is no token"),
            ("token.c2lnbmF0dXJl", "session token of Better Auth"),
            ("a.b.c.d.e", "encrypted token"), ("abc", "It has 1 parts"), ("a.b.c.d", "It has 4 parts"),
            ("a.b.c\nd", "cut or wrapped"), ("{}.{}.x", "header is not base64url"),
            ("e30=.e30.AAAA", "standard base64, or padded"), ("e30.%%.AAAA", "payload is not base64url"),
            ("bm8.e30.AAAA", "header is not JSON"), ("W10.e30.AAAA", "header is not a JSON object"),
            (parts(#"{"alg":"none","kid":"k"}"#), "alg none"), (parts(#"{"kid":"k"}"#), "names no algorithm"),
            (parts(#"{"alg":"RS256"}"#), "names no key (kid)"),
            (parts(#"{"alg":"RS256","kid":"k"}"#, "{}", ""), "signature is empty"),
            (parts(#"{"alg":"RS256","kid":"k","crit":["b64"]}"#), "has crit"),
            (parts(#"{"alg":"RS256","alg":"none","kid":"k"}"#), "names a member twice"),
            (parts(#"{"alg":"RS256","kid":"k"}"#, "{}", "%%"), "the signature, is not base64url"),
        ])
    func noToken(text: String, sentence: String) {
        #expect {
            try TokenText(text)
        } throws: { error in
            (error as? TokenText.Fault)?.sentence.contains(sentence) ?? false
        }
    }

    @Test(
        "an algorithm of others is named, and nothing of it is tried", arguments: ["HS256", "RS512", "PS256", "ES256"])
    func algorithms(name: String) throws {
        let kid = JWK(FixedKeys.signing.publicKey).kid
        let token = Self.parts(#"{"alg":"\#(name)","kid":"\#(kid)","typ":"at+jwt"}"#)
        #expect(try #require(try fault(token)).contains("It is signed with \(name)"))
    }

    @Test(
        "a pasted header field, quotes and line ends are the token too",
        arguments: [
            "Authorization: Bearer %\n", "bearer %", "Token %", "\"%\"", "  '%' \r\n",
        ])
    func pasted(form: String) throws {
        let token = try Self.token()
        let text = form.split(separator: "%", omittingEmptySubsequences: false).joined(separator: token)
        #expect(try fault(text) == nil)
    }

    @Test("the report shows header and claims with their times, and neither the token nor its signature")
    func report() throws {
        let token = try Self.token([("name", "a\u{1b}[2J\u{202e}b")])
        let text = TokenReport(try TokenText(token), at: Self.now).lines.joined(separator: "\n")
        #expect(text.contains("kind: access token") && text.contains(#"sub: "user-1""#))
        #expect(text.contains("in 29 min") && text.contains("11 min ago"))
        for part in token.split(separator: ".") { #expect(!text.contains(String(part))) }
        #expect(!text.contains("\u{1b}") && !text.contains("\u{202e}"))
    }
}
