import AuthAPI
import AuthDomain
import Foundation
import Testing

@Suite("The table of refusals for client developers")
struct RefusalTableTests {
    @Test("docs/clients.md has the catalogue's table")
    func document() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let text = try String(contentsOf: root.appending(path: "docs/clients.md"), encoding: .utf8)
        let parts = text.components(separatedBy: "<!-- refusals -->")
        try #require(parts.count == 2)
        let table = try #require(parts[1].components(separatedBy: "<!-- /refusals -->").first)
        #expect(
            table.trimmingCharacters(in: .whitespacesAndNewlines) == RefusalTable.markdown(),
            "the table is now:\n\(RefusalTable.markdown())")
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
