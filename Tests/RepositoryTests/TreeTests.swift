import Foundation
import Testing

/// Texts of the repository speak of the project alone: no path of one machine, no host that a build need not know.
///
/// The words are put together here, so that this file holds none of them.
private let privateWords: Pattern = {
    let folders = ["work", "root", "Users"].map { "(?<![\\w.~*-])/\($0)/" }
    let hosts = [
        "registry.npmjs" + ".org", "pypi" + ".org", "files.pythonhosted" + ".org", "crates" + ".io",
        "deb.debian" + ".org",
        "proxy.golang" + ".org", "rubygems" + ".org", "registry-1.docker" + ".io",
    ].map { NSRegularExpression.escapedPattern(for: $0) }
    return Pattern((folders + hosts).joined(separator: "|"))
}()

private func privateWordViolations(path: String, text: String) -> [Violation] {
    privateWords.matches(in: text).map {
        Violation(path: path, line: $0.line, advice: "`\($0.groups[0])`: a relative path, or leave it out")
    }
}

/// The shell scripts: what stands in `scripts` and `.ci`, by its first line or its ending.
private let scripts = (Repository.files(below: "scripts") + Repository.files(below: ".ci")).filter { path in
    path.hasSuffix(".sh") || Repository.text(path)?.hasPrefix("#!/usr/bin/env bash") == true
}

@Suite("Tree")
struct TreeTests {
    @Test("no file names a folder of one machine or the host of a package registry")
    func privateTexts() {
        for path in Repository.files() {
            if let text = Repository.text(path) { report(privateWordViolations(path: path, text: text)) }
        }
    }

    @Test("a private word is found, and what only looks like one passes")
    func privateWord() {
        for word in ["/wo" + "rk/a", "\"/ro" + "ot/a\"", "https://py" + "pi.org/a"] {
            #expect(privateWordViolations(path: "a", text: "b\nc \(word)").map(\.line) == [2], "\(word)")
        }
        for text in ["frame/work/a", "../root/a", "~/work/a", "https://example.org/a"] {
            #expect(privateWordViolations(path: "a", text: text).isEmpty, "\(text)")
        }
    }

    @Test("a text file ends with a line feed and has no blanks at the ends of its lines")
    func whitespace() {
        let endings = [".swift", ".sql", ".sh", ".yml", ".yaml", ".json", ".c", ".h"]
        let trailing = Pattern(#"[ \t]+$"#)
        for path in Repository.files(where: { path in endings.contains { path.hasSuffix($0) } }) {
            guard let text = Repository.text(path), !text.isEmpty, !isFixture(path) else { continue }
            if !text.hasSuffix("\n") {
                report([Violation(path: path, line: 1, advice: "no line feed at the end: add one")])
            }
            if path.hasSuffix(".json") { continue }
            report(trailing.matches(in: text).map { Violation(path: path, line: $0.line, advice: "blanks at the end") })
        }
    }

    /// Vectors from outside stay as they came.
    private func isFixture(_ path: String) -> Bool { path.contains("/Fixtures/") || path.contains("/fixtures/") }

    @Test("the scripts that people and build machines call can be executed")
    func executable() {
        for path in ["scripts/dev", "scripts/test", "scripts/sanitize", ".ci/run"] {
            #expect(scripts.contains(path), "\(path) is missing or not a bash script")
        }
        for path in scripts where !path.hasSuffix(".sh") {
            let isExecutable = FileManager.default.isExecutableFile(atPath: Repository.root.appending(path: path).path)
            if !isExecutable { report([Violation(path: path, line: 1, advice: "not executable: chmod +x")]) }
        }
    }

    @Test("every script runs in strict mode and parses", arguments: scripts)
    func strictMode(path: String) throws {
        let text = try #require(Repository.text(path))
        if !path.hasSuffix(".sh"), !text.contains("\nset -euo pipefail\n") {
            report([Violation(path: path, line: 2, advice: "no strict mode: `set -euo pipefail`")])
        }
        let bash = Process()
        bash.executableURL = URL(filePath: "/usr/bin/env")
        bash.arguments = ["bash", "-n", Repository.root.appending(path: path).path]
        try bash.run()
        bash.waitUntilExit()
        if bash.terminationStatus != 0 { report([Violation(path: path, line: 1, advice: "bash -n refuses it")]) }
    }

    @Test(
        "what a reader looks for first is there",
        arguments: ["LICENSE", "CHANGELOG.md", "Package.swift", "Sources/README.md"])
    func landmarks(path: String) {
        #expect(Repository.exists(path))
    }
}
