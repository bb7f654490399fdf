import AuthTesting
import Foundation
import Testing

@Suite("token inspect")
struct TokenInspectTests {
    @Test("a token of a server is good by the database, by a file and by the server's address, and is never repeated")
    func inspect() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let pair = try client.signedIn(site.tables.signIn().signed)
        let keys = FileManager.default.temporaryDirectory.appendingPathComponent("keys-\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: keys) }
        let published = try client.get("/.well-known/jwks.json")
        try Data(published.body).write(to: keys)
        for (token, options) in [
            (pair.access, []), (pair.refresh, []), (pair.access, ["--jwks", keys.path]),
            (pair.access, ["--jwks", "http://127.0.0.1:\(client.http.port)/.well-known/jwks.json"]),
        ] {
            let command = try site.run(["token", "inspect", token] + options)
            #expect(command.status == 0, "\(command.outputText)\(command.errorText)")
            #expect(command.outputText.contains("it is good") && command.outputText.contains(pair.sid))
            let said = command.outputText + command.errorText
            for part in token.split(separator: ".") { #expect(!said.contains(String(part))) }
        }
    }

    @Test("what is refused has a sentence and status 1, also where the keys cannot be had")
    func refused() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let pair = try client.signedIn(site.tables.signIn().signed)
        for (options, settings, sentence) in [
            (["--issuer", "https://other.example"], [:], "Its issuer is"),
            (["--audience", "other"], [:], "and not for other"),
            (["--jwks", "http://127.0.0.1:1/"], [:], "nothing accepts connections"),
            (["--jwks", "http://auth.example.com/"], [:], "neither https nor http on loopback"),
            (["--jwks", "/nowhere"], [:], "cannot be read"),
            (["--jwks", "http://127.0.0.1:\(client.http.port)/livez"], [:], "is not a key set"),
            ([], ["SALLYPORT_DATABASE_URL": nil], "give --jwks"),
            ([], ["SALLYPORT_KEK": nil], "SALLYPORT_KEK is not set"),
            ([], ["SALLYPORT_KEK": Data(repeating: 7, count: 32).base64EncodedString()], "does not open"),
        ] as [([String], [String: String?], String)] {
            let command = try site.run(["token", "inspect", pair.access] + options, settings: settings)
            #expect(command.status == 1)
            #expect(
                command.outputText.contains("refused: ") && command.outputText.contains(sentence),
                "\(command.outputText)")
        }
    }

    @Test("a misspelt command does not repeat the token", arguments: [0, 1, 2])
    func misuse(which: Int) throws {
        let site = try Site(isMigrated: false)
        let secret = "header.claims.signature"
        let arguments = [
            ["token", secret], ["token", "inspect", secret, secret], ["token", "inspect", "--verbose", secret],
        ]
        let command = try site.run(arguments[which])
        #expect(command.status == 2)
        #expect(!(command.outputText + command.errorText).contains(secret))
    }
}
