import AuthDomain
import Foundation
import JSON
import Primitives
import Testing

@Suite("Session tokens")
struct SessionTokenTests {
    private static let secret = "better-auth-secret-1234567890-abcdef"
    private static let token = "abcdefghijklmnopqrstuvwxyzABCDEF"
    private static let signature = "jnj0drBzy9j6Ks+zss+jprL7AAig651Y+JT0M2rUdmo="
    private static let signed = token + "." + signature

    private func reader(_ secrets: String..., allowsUnsigned: Bool = false) -> SessionTokenReader {
        SessionTokenReader(secrets: secrets.map { Secret(Array($0.utf8)) }, allowsUnsigned: allowsUnsigned)
    }

    private func failure(_ reader: SessionTokenReader, _ text: String) -> SessionTokenReader.Failure? {
        do throws(SessionTokenReader.Failure) {
            _ = try reader.read(text)
            return nil
        } catch {
            return error
        }
    }

    @Test("the contract's vector is read, and made")
    func vector() throws {
        #expect(try reader(Self.secret).read(Self.signed).token.exposed == Self.token)
        #expect(SessionTokenReader.sign(Self.token, secret: Secret(Array(Self.secret.utf8))) == Self.signed)
    }

    @Test(
        "every spelling of the signature is read",
        arguments: [
            signed, signed.replacing("+", with: "%2B").replacing("=", with: "%3D"),
            signed.replacing("+", with: "%2b").replacing("=", with: "%3d"), String(signed.dropLast()),
            signed.replacing("+", with: "-"), signed.replacing("+", with: "-").replacing("=", with: ""),
            signed.replacing("=", with: "%3D"), signed.replacing(".", with: "%2E"), signed.replacing("a", with: "%61"),
        ])
    func spellings(text: String) throws {
        #expect(try reader(Self.secret).read(text).token.exposed == Self.token)
    }

    @Test("several secrets are tried, in any place")
    func secrets() throws {
        for reader in [reader("a", Self.secret), reader(Self.secret, "a"), reader("a", "b", Self.secret, "c")] {
            #expect(try reader.read(Self.signed).token.exposed == Self.token)
        }
        #expect(failure(reader("a", "b"), Self.signed) == .foreign)
        #expect(failure(reader(Self.secret + "x"), Self.signed) == .foreign)
        #expect(failure(reader(""), Self.signed) == .foreign)
    }

    @Test(
        "another token, another signature or none is refused as foreign",
        arguments: [
            "b" + signed.dropFirst(), "x" + signed, "." + signed, token + "." + signed,
            signed.replacing(".j", with: ".k"),
        ])
    func foreign(text: String) {
        #expect(failure(reader(Self.secret), text) == .foreign)
    }

    private static let noTokens: [String] = [
        ["", ".", token, "\(token).", ".\(signature)", "\(signed)=", "\(signed).", "\(signed)%", "\(signed)%2"],
        ["\(signed)%zz", "\(signed) ", " \(signed)", "\u{9}\(signed)", "\(signed)\u{0}", "\(signed)%00"],
        ["\(signed)%20", "ä\(signed)", "\(token).\(signature.dropLast(2))", "\(token).\(signature.dropLast(3))+=="],
        ["\(token).AAAA\(signature)", "\(token)..", signed.replacing(".j", with: ".!")],
        [String(repeating: "a", count: 8_192) + "." + signature],
    ].flatMap { $0 }

    @Test("what is no signed token is malformed", arguments: noTokens)
    func malformed(text: String) {
        #expect(failure(reader(Self.secret), text) == .malformed)
    }

    @Test("raw tokens pass where they are allowed and no secret is configured, and only there")
    func unsigned() throws {
        let open = reader(allowsUnsigned: true)
        #expect(try open.read(Self.token).token.exposed == Self.token)
        #expect(try open.read(Self.signed).token.exposed == Self.signed)
        #expect(failure(open, "") == .malformed)
        #expect(failure(open, "a b") == .malformed)
        #expect(failure(reader(Self.secret, allowsUnsigned: true), Self.token) == .malformed)
        #expect(failure(reader(Self.secret, allowsUnsigned: true), "b" + Self.signed.dropFirst()) == .foreign)
        #expect(failure(reader(), Self.token) == .malformed)
        #expect(failure(reader(), Self.signed) == .foreign)
    }

    @Test(
        "the token is looked up as it is, or by its SHA-256",
        arguments: [
            (TokenLookup.plain, "abc"),
            (.sha256Hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (.sha256Base64URL, "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"),
        ])
    func lookup(lookup: TokenLookup, column: String) {
        #expect(lookup.column(for: SessionToken("abc")).exposed == column)
    }

    @Test("a token never shows in a description")
    func redaction() throws {
        let token = try reader(Self.secret).read(Self.signed)
        #expect(!"\(token) \(String(reflecting: token))".contains("abcdef"))
    }
}

@Suite("Session tokens: the case bank")
struct SessionTokenCaseTests {
    /// Where our reading differs from the bank's: level `policy` but for the raw token, which the contract lets in only
    /// where the operator has allowed it by name.
    private static let ours: [String: (expect: String, why: String)] = [
        "session-003": ("reject", "raw tokens need SALLYPORT_IDENTITY_ALLOW_UNSIGNED"),
        "session-009": ("accept", "base64url is accepted"),
        "session-017": ("accept", "cut at the last dot: the token is looked up, and not found"),
    ]
    /// The Cookie field itself, which no route of ours reads.
    private static let fieldCases: Set<String> = ["session-021", "session-022"]

    @Test("each credential is accepted or refused as the bank, or our policy, says")
    func cases() throws {
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/session.json")
        let document = try #require(try JSONParser.parse([UInt8](Data(contentsOf: url))).objectValue)
        let cases = try #require(document["cases"]?.arrayValue).compactMap(\.objectValue)
        #expect(cases.count == 15)
        let reader = SessionTokenReader(
            secrets: [Secret(Array("unit-test-secret-0123456789abcdef-not-real".utf8))], allowsUnsigned: false)
        for fields in cases {
            let id = try #require(fields["id"]?.stringValue)
            if Self.fieldCases.contains(id) { continue }
            let expected = Self.ours[id]?.expect ?? fields["expect"]?.stringValue
            let token = try? reader.read(try #require(fields["value"]?.stringValue)).token.exposed
            #expect((token == nil ? "reject" : "accept") == expected, "\(id)")
            if let token { #expect(token == (id == "session-017" ? "a.b" : "pQ7vX2mN9kL4wR8tY6uI3oP5aS1d0003")) }
        }
    }
}
