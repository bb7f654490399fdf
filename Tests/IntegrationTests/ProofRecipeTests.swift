import AuthTesting
import Crypto
import Foundation
import JOSE
import JSON
import Primitives
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
        let pair = try #require(gone.answer.json)
        try expectRefusal(refused, 400, "invalid_grant", "device_lost", "wipe")

        #expect(try check(refusal, pair, gone.refresh).status == 0)
        // The session token of the same device is refused with a proof of its own, as it was sent.
        let exchange = try client.exchange(session.signed)
        #expect(try check(try #require(exchange.json), pair, session.signed).status == 0)
        #expect(try check(try #require(exchange.json), pair, gone.refresh).text.contains("another token"))

        #expect(try check(refusal, pair, other.refresh).text.contains("another token"))
        #expect(try check(refusal, pair, gone.refresh, issuer: "https://evil.example").text.contains("something else"))
        for (member, value) in [("client_action", "lock"), ("error_reason", "signed_out")] {
            var changed = refusal
            changed[member] = .string(value)
            #expect(try check(changed, pair, gone.refresh).text.contains("something else"))
        }
        for (member, value) in [("sid", other.sid), ("device_id", other.deviceID)] {
            var changed = pair
            changed[member] = .string(value)
            #expect(try check(refusal, changed, gone.refresh).text.contains("another device or session"))
        }
        for proof in [nil, "", "a.b", "a.b.c"] as [String?] {
            var unproved = refusal
            unproved["proof"] = proof.map { .string($0) }
            #expect(try check(unproved, pair, gone.refresh).text.contains("no proof"))
        }
        var forged = refusal
        forged["proof"] = .string(try Self.forged(refused.text("proof")))
        #expect(try check(forged, pair, gone.refresh).text.contains("signature"))
        let elsewhere = try Site()
        let stranger = try AuthClient(elsewhere.serve()).signedIn(elsewhere.tables.signIn().signed)
        var planted = pair
        planted["verdict_key"] = stranger.answer.json?["verdict_key"]
        #expect(try check(refusal, planted, gone.refresh).text.contains("never stored"))
    }

    @Test("a key of a later answer counts with a proof by a stored one alone, through several of them")
    func planted() throws {
        let (first, second, third, thief) = (
            FixedKeys.verdict, FixedKeys.nextVerdict, FixedKeys.thirdVerdict, FixedKeys.foreign
        )
        let pair: JSONObject = ["verdict_key": .object(JWK(first.publicKey).json), "sid": "sid-1", "device_id": "d-1"]
        func answer(
            _ key: SigningKey, by signer: SigningKey?, type: String = "verdict-key+jwt", of other: SigningKey? = nil
        )
            throws -> JSONObject
        {
            var answer: JSONObject = ["verdict_key": .object(JWK(key.publicKey).json)]
            if let signer {
                answer["verdict_key_proof"] = .string(try Self.signed(JWK((other ?? key).publicKey).json, type, signer))
            }
            return answer
        }
        func isProved(by signer: SigningKey, _ answers: [JSONObject]) throws -> Bool {
            let claims: JSONObject = [
                "iss": .string(Site.issuer), "sid": "sid-1", "device_id": "d-1", "reason": "device_lost",
                "action": "wipe", "nonce": .string(Base64URL.encode(SHA256.hash(Array("token".utf8)))),
            ]
            let refusal: JSONObject = [
                "error_reason": "device_lost", "client_action": "wipe",
                "proof": .string(try Self.signed(claims, "verdict+jwt", signer)),
            ]
            return try check(refusal, pair, "token", answers: answers).status == 0
        }
        let chain = [try answer(second, by: first), try answer(third, by: second)]
        #expect(try isProved(by: first, chain))
        #expect(try isProved(by: second, chain))
        #expect(try isProved(by: third, chain))
        #expect(try isProved(by: third, [try answer(third, by: first)]))
        #expect(try !isProved(by: third, [chain[1], chain[0]]))
        #expect(try !isProved(by: second, []))

        var renamed = try answer(thief, by: nil)
        var key = JWK(thief.publicKey).json
        key["kid"] = .string(JWK(first.publicKey).kid)
        renamed["verdict_key"] = .object(key)
        let plants = [
            try answer(thief, by: nil), try answer(thief, by: thief), try answer(thief, by: first, type: "verdict+jwt"),
            try answer(thief, by: first, of: second), renamed,
        ]
        for plant in plants + [try answer(thief, by: second)] { #expect(try !isProved(by: thief, [plant])) }
        #expect(try !isProved(by: thief, plants + chain + plants))
    }

    @Test("a rotated verdict key comes with its proof; a compromised one without, and its successor says lock only")
    func changes() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let user = try site.tables.user()
        let keeper = try client.signedIn(site.tables.session(of: user).signed, installation: "installation-0002")
        let first = try client.signedIn(site.tables.session(of: user).signed)
        func verdictKID(_ state: String) throws -> String {
            try site.database.sql("SELECT kid FROM sallyport.keys WHERE purpose = 'verdict' AND state = '\(state)'")[0][
                0]
        }
        func keys(_ arguments: String...) throws {
            #expect(try site.run(["keys"] + arguments).status == 0, "\(arguments)")
        }
        func refreshed(_ pair: TokenPair, until kid: String) throws -> TokenPair {
            var pair = pair
            waitUntil(limit: .seconds(20)) {
                guard let next = try? client.refreshed(pair.refresh) else { return false }
                pair = next
                return pair.answer.json?["verdict_key"]?.objectValue?["kid"] == .string(kid)
            }
            return pair
        }
        // The sign-in is older than the minute in which servers follow.
        try site.database.sql("UPDATE sallyport.device_sessions SET created_at = created_at - interval '2 minutes'")
        try keys("rotate", "--verdict")
        try keys("promote", "--verdict", "--emergency")
        let rotated = try refreshed(first, until: verdictKID("current"))
        #expect(rotated.answer.json?["verdict_key_proof"] != nil)

        #expect(try client.call("POST", "/auth/devices/\(first.deviceID)/lost", bearer: keeper.access).status == 204)
        let wiped = try client.refresh(rotated.refresh)
        try expectRefusal(wiped, 400, "invalid_grant", "device_lost", "wipe")
        let pair = try #require(first.answer.json)
        #expect(try check(try #require(wiped.json), pair, rotated.refresh).status == 0)

        try keys("compromise", verdictKID("retired"))
        let kept = try refreshed(keeper, until: verdictKID("current"))
        waitUntil(limit: .seconds(20)) { (try? client.refresh(rotated.refresh).text("client_action")) == "lock" }
        try expectRefusal(client.refresh(rotated.refresh), 400, "invalid_grant", "device_lost", "lock")
        #expect(try client.refreshed(kept.refresh).answer.json?["verdict_key_proof"] == nil)
    }

    private static func signed(_ claims: JSONObject, _ type: String, _ key: SigningKey) throws -> String {
        let input = JWS.signingInput(
            header: JWTHeader(type: type, kid: JWK(key.publicKey).kid).json, claims: claims)
        return JWS.compact(signingInput: input, signature: try key.sign(input))
    }

    /// The same proof with one bit of its signature turned.
    private static func forged(_ proof: String) throws -> String {
        var bytes = Array(proof.utf8)
        let index = try #require(bytes.lastIndex(of: UInt8(ascii: "."))) + 10
        bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        return String(decoding: bytes, as: UTF8.self)
    }

    private func check(
        _ refusal: JSONObject, _ pair: JSONObject, _ token: String, issuer: String = Site.issuer,
        answers: [JSONObject] = []
    ) throws -> (status: Int32, text: String) {
        let folder = FileManager.default.temporaryDirectory.appending(path: "proof-\(Foundation.UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func written(_ name: String, _ bytes: [UInt8]) throws -> String {
            let file = folder.appending(path: name)
            try Data(bytes).write(to: file)
            return file.path
        }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = [
            Self.program.path, try written("refusal", refusal.encoded()), try written("pair", pair.encoded()),
            try written("token", Array(token.utf8)), issuer,
        ]
        for (index, answer) in answers.enumerated() {
            process.arguments?.append(try written("answer-\(index)", answer.encoded()))
        }
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let said = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: said, as: UTF8.self))
    }
}
