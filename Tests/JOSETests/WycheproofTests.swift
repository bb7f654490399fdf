import Crypto
import JOSE
import JSON
import Testing

/// Each JWS is read against its group's own keys, as a foreign key set. What Wycheproof calls valid and we refuse is
/// listed below with the reason; nothing else may differ, and every listed case must.
@Suite("Wycheproof's JOSE vectors")
struct WycheproofTests {
    private struct Deviation {
        let reason: String
        let ids: Set<Int64>
    }

    @Test("signatures of RS256 keys are judged as stated, all others are refused")
    func signatures() throws {
        try run(
            "json_web_signature_test.json", count: 401, accepted: [33, 259, 260, 261, 262, 263, 345, 349],
            deviations: [
                Deviation(
                    reason: "HS256: a shared secret signs as well as it checks",
                    ids: [1, 348, 352, 357, 358, 359, 372, 373, 376, 377]),
                Deviation(reason: "ES256, ES512: not an algorithm of ours", ids: [18, 347, 351, 378]),
                Deviation(reason: "RS384: not an algorithm of ours", ids: [264, 265, 266, 267]),
                Deviation(reason: "RS512: not an algorithm of ours", ids: [268, 269, 270, 271]),
                Deviation(reason: "PS256: not an algorithm of ours", ids: [272, 273, 274, 275, 287, 288]),
                Deviation(reason: "PS384: not an algorithm of ours", ids: [320, 321, 322, 323, 346, 350]),
                Deviation(reason: "PS512: not an algorithm of ours", ids: [325, 326, 327, 328]),
            ])
    }

    @Test("where the caller takes ES256 too, its signatures are judged as stated")
    func ellipticCurve() throws {
        try run(
            "json_web_signature_test.json", count: 401, algorithms: [.rs256, .es256],
            accepted: [18, 33, 259, 260, 261, 262, 263, 345, 349, 378],
            deviations: [
                Deviation(
                    reason: "HS256: a shared secret signs as well as it checks",
                    ids: [1, 348, 352, 357, 358, 359, 372, 373, 376, 377]),
                Deviation(reason: "ES512: not an algorithm of ours", ids: [347, 351]),
                Deviation(
                    reason: "RS384, RS512, PS256, PS384, PS512: not algorithms of ours",
                    ids: [
                        264, 265, 266, 267, 268, 269, 270, 271, 272, 273, 274, 275, 287, 288, 320, 321, 322, 323, 325,
                        326, 327, 328, 346, 350,
                    ]),
            ])
    }

    @Test("keys of the wrong use, size, kind and make sign nothing")
    func keys() throws {
        try run(
            "json_web_key_test.json", count: 26, accepted: [5],
            deviations: [
                Deviation(
                    reason: "HS256, HS384, HS512: a shared secret signs as well as it checks", ids: [2, 13, 14, 15])
            ])
    }

    @Test("mixed uses: signatures are judged as stated, encrypted tokens are no signatures")
    func mixed() throws {
        try run(
            "json_web_crypto_test.json", count: 83, accepted: [33],
            deviations: [
                Deviation(reason: "HS256: a shared secret signs as well as it checks", ids: [1, 48]),
                Deviation(reason: "ES256: not an algorithm of ours", ids: [18]),
                Deviation(reason: "JWE: we read no encrypted token", ids: [50, 67]),
            ])
    }

    private func run(
        _ name: String, count: Int, algorithms: Set<SignatureAlgorithm> = [.rs256], accepted: Set<Int64>,
        deviations: [Deviation]
    ) throws {
        let file = try Fixture.wycheproof(name)
        var seen = 0
        var acceptedIDs: Set<Int64> = []
        var deviatingIDs: Set<Int64> = []
        for group in file.groups {
            let keys = try Self.keys(of: group)
            for test in try Fixture.objects("tests", of: group) {
                seen += 1
                let id = try #require(test["tcId"]?.integerValue)
                let isValid = try test.text("result") == "valid"
                let isAccepted = Self.accepts(test["jws"] ?? test["jwe"], keys: keys, algorithms)
                if isAccepted { acceptedIDs.insert(id) }
                if isAccepted != isValid { deviatingIDs.insert(id) }
                #expect(isValid || !isAccepted, "\(name) tcId \(id) is invalid")
            }
        }
        #expect(seen == count)
        #expect(seen == Int(file.statedCount))
        #expect(acceptedIDs == accepted)
        #expect(deviatingIDs == deviations.reduce(into: []) { $0.formUnion($1.ids) })
    }

    /// One key or a set; the public half where the kind has one.
    private static func keys(of group: JSONObject) throws -> JWKSet {
        let given = try group["public"]?.objectValue ?? group.object("private")
        let set = given["keys"] == nil ? JSONObject([("keys", [.object(given)])]) : given
        return try JWKSet.parse(set.encoded())
    }

    private static func accepts(
        _ token: JSONValue?, keys: JWKSet, _ algorithms: Set<SignatureAlgorithm>
    ) -> Bool {
        // Some are JSON serializations, given as objects: as text they are no compact JWS.
        let text = token?.stringValue ?? token.map { String(decoding: $0.encoded(), as: UTF8.self) } ?? ""
        guard let jws = try? UnverifiedJWS(text) else { return false }
        return (try? jws.verifySignature(algorithms: algorithms) { keys[$0] }) != nil
    }
}
