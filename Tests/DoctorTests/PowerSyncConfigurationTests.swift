import AuthTesting
import Crypto
import Foundation
import JOSE
import JSON
import Primitives
import Testing

@testable import Doctor

/// Files of which PowerSync's own verdict is known.
@Suite("PowerSync's configuration")
struct PowerSyncConfigurationTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")
    private static let base = "http://127.0.0.1:18220"
    private static let key = JWK(FixedKeys.signing.publicKey)

    private static let verdicts: [(file: String, verdict: String)] = {
        let text = (try? String(contentsOf: folder.appending(path: "verdicts.tsv"), encoding: .utf8)) ?? ""
        return text.split(separator: "\n").dropFirst().compactMap { line in
            let cells = line.split(separator: "\t")
            return cells.count < 2 ? nil : (String(cells[0]), String(cells[1]))
        }
    }()

    /// What may be named for each verdict: a right verdict for a wrong reason sends the operator elsewhere.
    private static let reasons: [String: Set<PowerSyncFault>] = [
        "PSYNC_S2101": [.jwksMissing, .jwksForeign], "PSYNC_S2105": [.audienceMissing, .audienceForeign],
        "PSYNC_S2204": [.jwksForeign],
        "does not start": [.valueKind, .configMalformed, .jwksAddressMalformed, .jwksAddressRefused, .environmentName],
    ]

    private static func findings(_ file: String) throws -> [PowerSyncFinding] {
        let terms = PowerSyncTerms(
            issuer: base, audiences: [base, "powersync"], gatedAudiences: ["powersync"], accessLifetime: .minutes(30),
            keys: [key])
        // As bytes: Swift's `split` takes CRLF for one character, and a byte order mark has to stay.
        var text = String(decoding: try Data(contentsOf: folder.appending(path: file)), as: UTF8.self)
        for (mark, value) in [
            ("@BASE@", base), ("@KID@", key.kid), ("@N@", key.json["n"]?.stringValue ?? ""),
        ] { text = text.replacingOccurrences(of: mark, with: value) }
        var variables: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) where line.hasPrefix("# env ") {
            let parts = line.dropFirst(6).split(separator: "=", maxSplits: 1)
            variables[String(parts[0])] = String(parts[1])
        }
        return PowerSyncJudge(terms: terms, variables: { variables[$0] }).findings(config: Array(text.utf8), name: file)
    }

    @Test("every file has a verdict, and every verdict its file")
    func complete() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
            .filter { $0.hasSuffix(".yaml") || $0.hasSuffix(".json") }
        #expect(Set(files) == Set(Self.verdicts.map(\.file)))
        #expect(files.count >= 43)
    }

    @Test("each file is judged as PowerSync judges it", arguments: verdicts.map(\.file))
    func verdict(file: String) throws {
        let verdict = try #require(Self.verdicts.first { $0.file == file }?.verdict)
        let found = try Self.findings(file)
        let faults = Set(found.map(\.fault).filter { !$0.isWarning })
        if verdict == "accepted" {
            #expect(faults.isEmpty, "\(found.map(\.sentence))")
        } else {
            let reasons = try #require(Self.reasons[verdict], "\(verdict)")
            #expect(!faults.isDisjoint(with: reasons), "\(verdict): \(found.map(\.sentence))")
        }
    }

    @Test("an audience that unverified users have too is named")
    func openAudience() throws {
        let found = try Self.findings("16-issuer-as-audience.yaml")
        #expect(found == [PowerSyncFinding(.audienceOpen, Self.base)])
        #expect(try Self.findings("59-two-audiences.yaml") == [])
    }

    @Test("what warns where PowerSync starts")
    func warnings() throws {
        #expect(try Self.findings("12-supabase-beside-ours.yaml").map(\.fault) == [.supabaseEnabled])
        #expect(
            try Self.findings("15-supabase-with-connection.yaml").map(\.fault) == [.supabaseEnabled, .supabaseSecret])
        #expect(try Self.findings("23-static-our-key.yaml").map(\.fault) == [.staticKeyAlone])
        #expect(try Self.findings("26-hs256-beside.yaml").map(\.fault) == [.sharedSecret])
        #expect(try Self.findings("41-localhost-name.yaml").map(\.fault) == [.jwksOnLoopback])
        for good in ["27-two-uris", "30-anchors-flow", "44-query", "45-folded", "53-crlf", "54-bom", "62-more-styles"] {
            #expect(try Self.findings(good + ".yaml") == [], "\(good)")
        }
    }
}

@Suite("An audience for PowerSync")
struct PowerSyncTermsTests {
    private static let issuer = "https://auth.example.net"

    private static func terms(_ audiences: [String], gated: [String]?) -> PowerSyncTerms {
        PowerSyncTerms(
            issuer: issuer, audiences: audiences, gatedAudiences: gated, accessLifetime: .minutes(30), keys: [])
    }

    @Test(
        "is one that is withheld from unverified users",
        arguments: [
            ([issuer, "powersync"], ["powersync"], "powersync"),
            (["https://api.a", "https://sync.a"], ["https://sync.a"], "https://sync.a"),
            (["https://sync.a", "https://api.a"], ["https://api.a"], "https://api.a"),
            ([issuer, "https://api.a", "https://sync.a"], ["https://api.a", "https://sync.a"], "https://sync.a"),
            (["https://api.a", "https://data.a"], ["https://api.a", "https://data.a"], "https://api.a"),
            // Where no gate withholds any.
            ([issuer, "https://api.a"], nil, "https://api.a"), ([issuer], nil, issuer),
        ] as [([String], [String]?, String)])
    func audience(audiences: [String], gated: [String]?, expected: String) {
        let terms = Self.terms(audiences, gated: gated)
        #expect(terms.audience == expected)
        #expect(
            terms.clientAuthBlock.contains("audience:\n    - \(expected)\n")
                || terms.clientAuthBlock.hasSuffix("- \(expected)"))
        #expect(terms.findings.isEmpty)
    }

    @Test("is missing where the gate withholds none, which is said")
    func open() {
        #expect(Self.terms([Self.issuer, "https://api.a"], gated: []).findings.map(\.fault) == [.audienceOpen])
    }

    @Test("others that are withheld are offered in a comment")
    func others() {
        let block = Self.terms(
            [Self.issuer, "https://api.a", "https://sync.a"], gated: ["https://api.a", "https://sync.a"]
        )
        .clientAuthBlock
        #expect(block.contains("# Or, if PowerSync is that one: https://api.a"))
        #expect(!block.contains("- \(Self.issuer)"))
    }

    @Test(
        "that unverified users have too is a warning in the file",
        arguments: [
            (["https://sync.a"], []), (["https://api.a"], [PowerSyncFault.audienceOpen]),
            (["https://sync.a", "https://api.a"], [.audienceOpen]),
            // In every token that would have no audience.
            ([issuer], [.audienceOpen, .audienceForeign]), (["elsewhere"], [.audienceForeign]),
        ])
    func file(names: [String], expected: [PowerSyncFault]) {
        let text =
            "client_auth:\n  jwks_uri: \(Self.issuer)/.well-known/jwks.json\n  audience: [\(names.joined(separator: ", "))]"
        for (gated, expected) in [(["https://sync.a"], expected), (nil, expected.filter { $0 != .audienceOpen })] {
            let judge = PowerSyncJudge(
                terms: Self.terms(["https://api.a", "https://sync.a"], gated: gated), variables: { _ in nil })
            #expect(judge.findings(config: Array(text.utf8), name: "a.yaml").map(\.fault) == expected)
        }
    }
}
