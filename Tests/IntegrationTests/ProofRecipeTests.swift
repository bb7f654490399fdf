import AuthTesting
import Foundation
import JSON
import Testing

/// The recipe of `docs/clients.md`, followed with nothing of ours but the program that it names.
@Suite(
    "The recipe for checking a proof", .blocking,
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")))
struct ProofRecipeTests {
    private static let program = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Examples/verify_proof.py")

    @Test("a genuine proof holds for the token that was sent, and nothing that was changed or borrowed does")
    func recipe() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let user = try site.tables.user()
        let session = try site.tables.session(of: user)
        let gone = try client.signedIn(session.signed)
        let other = try client.signedIn(site.tables.session(of: user).signed, installation: "installation-0002")
        #expect(try client.call("POST", "/auth/devices/\(gone.deviceID)/lost", bearer: other.access).status == 204)
        let refused = try client.refresh(gone.refresh)
        let refusal = try #require(refused.json)
        let key = try #require(gone.answer.json?["verdict_key"])
        try expectRefusal(refused, 400, "invalid_grant", "device_lost", "wipe")

        #expect(try check(refusal, key, gone.refresh).status == 0)
        // The session token of the same device is refused with a proof of its own, as it was sent.
        let exchange = try client.exchange(session.signed)
        #expect(try check(try #require(exchange.json), key, session.signed).status == 0)
        #expect(try check(try #require(exchange.json), key, gone.refresh).text.contains("another token"))

        #expect(try check(refusal, key, other.refresh).text.contains("another token"))
        #expect(try check(refusal, key, gone.refresh, issuer: "https://evil.example").text.contains("something else"))
        for (member, value) in [("client_action", "lock"), ("error_reason", "signed_out")] {
            var changed = refusal
            changed[member] = .string(value)
            #expect(try check(changed, key, gone.refresh).text.contains("something else"))
        }
        var unproved = refusal
        unproved["proof"] = nil
        #expect(try check(unproved, key, gone.refresh).text.contains("no proof"))
        var forged = refusal
        forged["proof"] = .string(try Self.forged(refused.text("proof")))
        #expect(try check(forged, key, gone.refresh).text.contains("signature"))
        let elsewhere = try Site()
        let stranger = try AuthClient(elsewhere.serve()).signedIn(elsewhere.tables.signIn().signed)
        let strangersKey = try #require(stranger.answer.json?["verdict_key"])
        #expect(try check(refusal, strangersKey, gone.refresh).text.contains("never stored"))
    }

    /// The same proof with one bit of its signature turned.
    private static func forged(_ proof: String) throws -> String {
        var bytes = Array(proof.utf8)
        let index = try #require(bytes.lastIndex(of: UInt8(ascii: "."))) + 10
        bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        return String(decoding: bytes, as: UTF8.self)
    }

    private func check(
        _ refusal: JSONObject, _ key: JSONValue, _ token: String, issuer: String = Site.issuer
    ) throws -> (status: Int32, text: String) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "proof-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let pair: JSONObject = ["verdict_key": key]
        let contents = [("refusal", refusal.encoded()), ("pair", pair.encoded()), ("token", Array(token.utf8))]
        for (name, bytes) in contents { try Data(bytes).write(to: folder.appending(path: name)) }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [Self.program.path] + contents.map { folder.appending(path: $0.0).path } + [issuer]
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let said = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: said, as: UTF8.self))
    }
}
