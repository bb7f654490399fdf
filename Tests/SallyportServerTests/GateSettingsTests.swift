import AuthDomain
import Testing

@testable import SallyportServer

@Suite("The verified gate of the settings")
struct GateSettingsTests {
    private static let issuer = "https://auth.example.com"

    private func read(_ settings: [String: String]) throws -> Settings {
        let reader = SettingsReader(
            environment: SettingsReaderTests.required.merging(settings) { $1 }, file: nil, readFile: { _ in nil })
        return try reader.read(for: .serving)
    }

    fileprivate struct Case: CustomTestStringConvertible, Sendable {
        let settings: [String: String]
        /// Scopes and audiences of an unverified user's token; `nil`: none.
        let unverified: [[String]]?
        let verified: [[String]]
        var testDescription: String { "\(settings)" }

        init(_ settings: [String: String], _ unverified: [[String]]?, _ verified: [[String]]) {
            self.settings = Dictionary(uniqueKeysWithValues: settings.map { ("SALLYPORT_" + $0.key, $0.value) })
            self.unverified = unverified
            self.verified = verified
        }
    }

    private static let api = "https://api.example.com"
    private static let sync = "https://sync.example.com"

    private static let cases = [
        Case([:], [["api"], [issuer]], [["api", "sync"], [issuer, "powersync"]]),
        Case(["AUDIENCES": "\(api),\(sync)"], [["api"], [issuer]], [["api", "sync"], [api, sync]]),
        Case(["AUDIENCES": sync], [["api"], [issuer]], [["api", "sync"], [sync]]),
        Case(["AUDIENCES": "\(issuer)/,\(sync)"], [["api"], [issuer]], [["api", "sync"], ["\(issuer)/", sync]]),
        Case(
            ["AUDIENCES": "\(issuer),\(api),\(sync)", "GATED_AUDIENCES": sync], [["api"], [issuer, api]],
            [["api", "sync"], [issuer, api, sync]]),
        Case(["SCOPES": "read write"], [["read", "write"], [issuer]], [["read", "write"], [issuer, "powersync"]]),
        Case(
            ["SCOPES": "read data", "GATED_SCOPES": "data"], [["read"], [issuer]],
            [["read", "data"], [issuer, "powersync"]]),
        Case(["SCOPES": "sync"], nil, [["sync"], [issuer, "powersync"]]),
        Case(["AUDIENCES": issuer], [["api"], [issuer]], [["api", "sync"], [issuer]]),
        Case(
            ["VERIFIED_GATE": "claim", "AUDIENCES": sync], [["api", "sync"], [sync]], [["api", "sync"], [sync]]),
        Case(["VERIFIED_GATE": "claim", "AUDIENCES": issuer, "SCOPES": "a"], [["a"], [issuer]], [["a"], [issuer]]),
        Case(["VERIFIED_GATE": "deny"], nil, [["api", "sync"], [issuer, "powersync"]]),
        Case(["VERIFIED_GATE": "deny", "AUDIENCES": issuer, "SCOPES": "a"], nil, [["a"], [issuer]]),
    ]

    @Test("what users get by each setting", arguments: cases)
    fileprivate func admitted(example: Case) throws {
        let settings = try read(example.settings)
        let policy = settings.policy(issuer: try #require(settings.issuer))
        for isVerified in [true, false] {
            let admitted = policy.admit(policy.scopes, isVerified: isVerified).map { [$0.scopes.names, $0.audiences] }
            #expect(admitted == (isVerified ? example.verified : example.unverified))
        }
    }

    @Test(
        "a gate that stands open refuses the start, by name",
        arguments: [
            (["AUDIENCES": issuer, "SCOPES": "api"], "VERIFIED_GATE", ["claim", "deny"]),
            (["AUDIENCES": issuer, "SCOPES": "read write"], "VERIFIED_GATE", ["claim", "deny"]),
            (["GATED_SCOPES": "snyc"], "GATED_SCOPES", ["snyc", "api sync"]),
            (["SCOPES": "read write", "GATED_SCOPES": "sync"], "GATED_SCOPES", ["sync", "read write"]),
            (["GATED_AUDIENCES": "powersnyc"], "GATED_AUDIENCES", ["powersnyc", "powersync"]),
            (["AUDIENCES": sync, "GATED_AUDIENCES": "powersync"], "GATED_AUDIENCES", ["powersync", sync]),
            (["GATED_AUDIENCES": issuer], "GATED_AUDIENCES", ["issuer"]),
            (["GATED_AUDIENCES": "\(issuer),powersync"], "GATED_AUDIENCES", ["issuer"]),
            (["VERIFIED_GATE": "claim", "GATED_SCOPES": "snyc"], "GATED_SCOPES", ["snyc"]),
            (["SCOPES": "api,sync"], "SCOPES", ["commas"]),
        ] as [([String: String], String, [String])])
    func open(settings: [String: String], name: String, words: [String]) {
        let named = Dictionary(uniqueKeysWithValues: settings.map { ("SALLYPORT_" + $0.key, $0.value) })
        let error = #expect(throws: SettingProblems.self) { try read(named) }
        #expect(error?.all.map(\.name) == ["SALLYPORT_" + name])
        for word in words { #expect(error?.all.first?.message.contains(word) ?? false, "\(word)") }
    }
}
