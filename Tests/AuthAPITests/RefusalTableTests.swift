import AuthAPI
import AuthDomain
import Foundation
import Testing

@Suite("The table of refusals for client developers")
struct RefusalTableTests {
    @Test(
        "docs/clients.md has the tables of the catalogue",
        arguments: [("refusals", RefusalTable.markdown()), ("actions", RefusalTable.actions())])
    func document(mark: String, expected: String) throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "docs/clients.md"), encoding: .utf8)
        let parts = text.components(separatedBy: "<!-- \(mark) -->")
        try #require(parts.count == 2)
        let table = try #require(parts[1].components(separatedBy: "<!-- /\(mark) -->").first)
        #expect(
            table.trimmingCharacters(in: .whitespacesAndNewlines) == expected, "the table is now:\n\(expected)")
    }

    @Test("each action has one row, and every reason stands beside exactly one")
    func actions() {
        let lines = RefusalTable.actions().split(separator: "\n").dropFirst(2)
        #expect(lines.count == ClientAction.allCases.count)
        for reason in Set(APIErrorCode.allCases.map(\.reason)) {
            #expect(
                lines.filter { $0.contains("`\(reason)`") && !$0.hasPrefix("| `\(reason)`") }.count == 1, "\(reason)")
        }
    }

    @Test("every reason has one row of five cells, and only what contract section 5 lists says wipe")
    func rows() {
        let lines = RefusalTable.markdown().split(separator: "\n").dropFirst(2)
        let reasons = Set(APIErrorCode.allCases.map { code in code.reason })
        #expect(lines.count == reasons.count)
        for line in lines { #expect(line.split(separator: "|").count == 5, "\(line)") }
        for reason in reasons { #expect(lines.filter { $0.hasPrefix("| `\(reason)` ") }.count == 1, "\(reason)") }
        let wiping = lines.filter { $0.contains("`wipe`") }.compactMap { $0.split(separator: "`").dropFirst().first }
        #expect(
            Set(wiping) == [
                "device_revoked", "device_lost", "wipe_ordered", "signed_out", "session_revoked", "account_deleted",
            ])
        for line in lines where line.contains(" 503") {
            #expect(line.contains("`retry`") && line.contains("Retry-After"))
        }
    }
}
