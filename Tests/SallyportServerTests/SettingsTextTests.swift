import AuthDomain
import Foundation
import Testing

@testable import SallyportServer

@Suite("Settings as text")
struct SettingsTextTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test("no secret is shown, and what was not given stands as a comment")
    func current() throws {
        let secrets = SettingTable.rows.filter(\.isSecret).map(\.name)
        #expect(
            Set(secrets) == [
                "SALLYPORT_DATABASE_URL", "SALLYPORT_KEK", "SALLYPORT_RESOURCE_SERVERS",
                "SALLYPORT_IDENTITY_DATABASE_URL", "SALLYPORT_IDENTITY_SECRETS",
            ])
        var environment = Dictionary(uniqueKeysWithValues: secrets.map { ($0, "hidden-\($0)") })
        environment["SALLYPORT_ACCESS_TTL"] = "5m"
        environment["SALLYPORT_KEK"] = nil
        environment["SALLYPORT_KEK_FILE"] = "/kek"
        let reader = SettingsReader(environment: environment, file: nil) { _ in "hidden-from-a-file" }
        let text = SettingsText.current(reader)
        #expect(!text.contains("hidden"))
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.count == SettingTable.rows.count)
        #expect(lines.contains("SALLYPORT_KEK=[redacted]"))
        #expect(lines.contains("SALLYPORT_ACCESS_TTL=5m"))
        #expect(lines.contains("# SALLYPORT_REFRESH_TTL=30d"))
        #expect(lines.contains("# SALLYPORT_WORKERS: one a core"))
    }

    @Test("the template is a file that the reader takes, and says nothing but the defaults")
    func template() {
        let template = SettingsText.template()
        let reader = SettingsReader(environment: [:], file: template) { _ in nil }
        let error = #expect(throws: SettingProblems.self) { try reader.read(for: .serving) }
        #expect(error?.all.map(\.name) == ["SALLYPORT_DATABASE_URL", "SALLYPORT_ISSUER", "SALLYPORT_KEK"])
        // With every default in force by name it is the same.
        let uncommented = template.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("# SALLYPORT_") ? line.dropFirst(2) : line
        }.joined(separator: "\n")
        let given = SettingsReader(
            environment: SettingsReaderTests.required, file: uncommented, readFile: { _ in nil })
        #expect(throws: Never.self) { try given.read(for: .serving) }
        for setting in SettingTable.rows { #expect(template.contains("\(setting.name)=")) }
    }

    @Test(".env.example is the template")
    func example() throws {
        let file = try String(contentsOf: Self.root.appending(path: ".env.example"), encoding: .utf8)
        #expect(
            file.trimmingCharacters(in: .whitespacesAndNewlines)
                == SettingsText.template().trimmingCharacters(in: .whitespacesAndNewlines),
            "sallyport config --template > .env.example")
    }

    @Test("the README's table is the settings table")
    func readme() throws {
        let text = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
        let parts = text.components(separatedBy: "<!-- settings -->")
        try #require(parts.count == 2)
        let table = try #require(parts[1].components(separatedBy: "<!-- /settings -->").first)
        #expect(
            table.trimmingCharacters(in: .whitespacesAndNewlines)
                == SettingsText.markdown().trimmingCharacters(in: .whitespacesAndNewlines))
    }

    @Test("each row of the table has three cells, and no default of a secret")
    func markdown() {
        let lines = SettingsText.markdown().split(separator: "\n")
        #expect(lines.count == SettingTable.rows.count + 2)
        for line in lines { #expect(line.split(separator: "|").count == 3, "\(line)") }
    }
}

@Suite("Issuer")
struct IssuerTests {
    @Test(
        "an https origin is one, and http on loopback",
        arguments: [
            ("https://auth.example.com", false), ("https://auth.example.com:8443", false),
            ("https://example.com/auth", false), ("https://192.0.2.1", false), ("https://[2001:db8::1]:443", false),
            ("https://localhost", true), ("http://localhost", true), ("http://localhost:8080", true),
            ("http://127.0.0.1:8080", true), ("http://127.9.9.9", true), ("http://[::1]:8080", true),
        ])
    func taken(text: String, isLoopback: Bool) throws {
        let issuer = try Issuer(text)
        #expect(issuer.text == text && issuer.isLoopback == isLoopback)
    }

    @Test(
        "anything else is none",
        arguments: [
            "", "auth.example.com", "ftp://auth.example.com", "http://auth.example.com", "http://192.0.2.1",
            "http://[2001:db8::1]", "HTTPS://auth.example.com", "https://", "https:///auth",
            "https://auth.example.com/",
            "https://auth.example.com/auth/", "https://auth.example.com?a=b", "https://auth.example.com#a",
            "https://user@auth.example.com", "https://auth.example.com:port", "https://auth.example.com:65536",
            "https://auth.example.com:1:2", "https://[::1", "https://[::1]x", "https://auth example.com",
            "https://äuth.example.com", "https://auth.example.com%2f", "http://localhost.evil.example",
            "http://127.0.0.1.evil.example", "https://:443", "https://a\n",
        ])
    func refused(text: String) {
        #expect(throws: SettingFault.self) { try Issuer(text) }
    }
}

@Suite("Arguments")
struct ArgumentsTests {
    @Test("commands, flags and options are taken in any order, and the rest is misuse")
    func order() throws {
        var arguments = Arguments(["serve", "--config", "/a", "--test-target"])
        let (command, flags) = (
            arguments.takeCommand(), [arguments.takeFlag("--test-target"), arguments.takeFlag("--test-target")]
        )
        let options = [try arguments.takeOption("--config"), try arguments.takeOption("--config")]
        #expect(command == "serve" && flags == [true, false] && options == ["/a", nil])
        #expect(throws: Never.self) { try arguments.end() }
    }

    @Test("keys has its actions, a name that begins with a hyphen too, and refuses what does not fit")
    func keys() throws {
        func parsed(_ words: String...) throws(Arguments.Misuse) -> KeysCommand.Action {
            var arguments = Arguments(words)
            let action = try KeysCommand.Action.parse(&arguments)
            try arguments.end()
            return action
        }
        let kid = "-" + String(repeating: "a", count: 42)
        let accepted: [(KeysCommand.Action, KeysCommand.Action)] = [
            (try parsed("list"), .list), (try parsed("rewrap"), .rewrap),
            (try parsed("rotate"), .perform(.rotate(.access))),
            (try parsed("rotate", "--refresh"), .perform(.rotate(.refresh))),
            (try parsed("rotate", "--verdict"), .perform(.rotate(.verdict))),
            (try parsed("promote"), .perform(.promote(kid: nil, .access, isEmergency: false))),
            (try parsed("promote", "--emergency", kid), .perform(.promote(kid: kid, .access, isEmergency: true))),
            (try parsed("retire", kid, "--emergency"), .perform(.retire(kid: kid, isEmergency: true))),
            (try parsed("compromise", kid), .perform(.compromise(kid: kid))),
        ]
        for (action, expected) in accepted { #expect(action == expected) }
        for words in [
            [], ["sign"], ["retire"], ["compromise"], ["compromise", "--emergency", kid], ["rotate", "--emergency"],
            ["retire", "--refresh", kid], ["rotate", kid], ["list", kid], ["promote", "-short"],
            ["rotate", "--refresh", "--verdict"],
            ["compromise", "--verdict", kid], ["retire", kid, kid],
        ] {
            #expect(throws: Arguments.Misuse.self, "\(words)") {
                var arguments = Arguments(words)
                _ = try KeysCommand.Action.parse(&arguments)
                try arguments.end()
            }
        }
    }

    @Test("an option without its value and a word that nobody took are told")
    func misuse() {
        var noValue = Arguments(["migrate", "--config"])
        _ = noValue.takeCommand()
        let error = #expect(throws: Arguments.Misuse.self) { try noValue.takeOption("--config") }
        #expect(error?.description == "--config needs a value")
        var eaten = Arguments(["end", "--user", "--config", "/a"])
        #expect(throws: Arguments.Misuse.self) { try eaten.takeOption("--user") }
        var noID = Arguments(["abc"])
        let malformed = #expect(throws: Arguments.Misuse.self) { try noID.takeID("an id") }
        #expect(malformed?.description == "expected: an id")
        let unknown = #expect(throws: Arguments.Misuse.self) { try Arguments(["--verbose"]).end() }
        #expect(unknown?.description == "unknown argument --verbose")
        var none = Arguments([])
        let command = none.takeCommand()
        #expect(command == nil)
    }

    @Test("a mistake is followed by the lines of its command, and help by all", arguments: Command.allCases)
    func usage(command: Command) {
        let lines = command.usage.split(separator: "\n").filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }
        let names = Set(lines.compactMap { $0.split(separator: " ").first.map(String.init) })
        #expect(command == .help ? names == Set(Command.allCases.map(\.rawValue)) : names == [command.rawValue])
    }

    @Test(
        "help and version have their usual flags",
        arguments: [("-h", "help"), ("--help", "help"), ("--version", "version")])
    func flags(flag: String, command: String) {
        var arguments = Arguments([flag])
        let taken = arguments.takeCommand()
        #expect(taken == command)
    }
}
