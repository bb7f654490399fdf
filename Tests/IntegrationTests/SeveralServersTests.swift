import AuthTesting
import Glibc
import JOSE
import JSON
import Testing

@Suite("Several servers on one database", .blocking)
struct SeveralServersTests {
    @Test("two that start at once on an empty database make one key set")
    func keySet() throws {
        let site = try Site()
        let servers = [try site.start(), try site.start()]
        let clients = try servers.map { try AuthClient($0.waitUntilReady()) }
        let keySets = try clients.map { try $0.get("/.well-known/jwks.json").text }
        #expect(keySets[0] == keySets[1])
        #expect(try JWKSet.parse(Array(keySets[0].utf8)).keys.count == 1)
        let rows = try site.database.sql("SELECT purpose, count(kid) FROM sallyport.keys GROUP BY 1 ORDER BY 1")
        #expect(rows == [["access", "1"], ["refresh", "1"], ["verdict", "1"]])
        // Each takes what the other has issued.
        let pair = try clients[0].signedIn(site.tables.signIn().signed)
        #expect(try clients[1].get("/auth/devices", bearer: pair.access).status == 200)
        #expect(try clients[1].refreshed(pair.refresh).generation == 2)
    }

    @Test("keys and sessions survive kill -9, also with refreshes on the way")
    func killed() throws {
        let site = try Site()
        let first = try AuthClient(site.serve())
        let keySet = try first.get("/.well-known/jwks.json").text
        let pair = try first.signedIn(site.tables.signIn().signed)
        let killer = first.server
        let answers = try HTTPClient.together(8) { index in
            if index == 7 { killer.kill() }
            return try? first.refresh(pair.refresh)
        }
        let status = try #require(killer.process.status)
        #expect(status == 128 + SIGKILL, "\(status)")
        // Whatever was answered before the end is 200.
        #expect(answers.compactMap { $0 }.allSatisfy { $0.status == 200 })

        let second = try AuthClient(site.serve())
        #expect(try second.get("/.well-known/jwks.json").text == keySet)
        let next = try second.refreshed(pair.refresh)
        #expect(try next.generation == 2)
        for answer in answers.compactMap({ $0 }) { #expect(try answer.text("refresh_token") == next.refresh) }
        #expect(try second.get("/auth/devices", bearer: pair.access).status == 200)
    }

    @Test("a revoked device is refused at once on every server, with a wipe that the stored verdict key proves")
    func revoked() throws {
        let site = try Site()
        let (first, second) = (try AuthClient(site.serve()), try AuthClient(site.serve()))
        let user = try site.tables.user()
        let session = try site.tables.session(of: user)
        let lost = try first.signedIn(session.signed, installation: "installation-lost")
        let owner = try first.signedIn(site.tables.session(of: user).signed, installation: "installation-own")
        #expect(try first.call("DELETE", "/auth/devices/\(lost.deviceID)", bearer: owner.access).status == 204)

        let key = lost.answer.json?["verdict_key"]
        for client in [second, first] {
            let answer = try client.refresh(lost.refresh)
            try expectRefusal(answer, 400, "invalid_grant", "device_revoked", "wipe")
            #expect(try answer.text("device_id") == lost.deviceID)
            try expectProof(of: answer, presented: lost.refresh, storedKey: key)
            let exchanged = try client.exchange(session.signed, installation: "installation-lost")
            try expectRefusal(exchanged, 400, "invalid_grant", "device_revoked", "wipe")
            try expectProof(of: exchanged, presented: session.signed, storedKey: key)
            let access = try client.get("/auth/devices", bearer: lost.access)
            try expectRefusal(access, 401, "invalid_token", "access_revoked", "refresh")
            #expect(access.json?["proof"] == nil)
        }
        #expect(try second.refreshed(owner.refresh).generation == 2)
    }

    @Test("a proof is bound to the token that was presented and to the key that was stored")
    func proof() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let pair = try client.signedIn(site.tables.signIn().signed)
        #expect(try client.call("POST", "/auth/sign-out", bearer: pair.access).status == 204)
        let answer = try client.refresh(pair.refresh)
        try expectRefusal(answer, 400, "invalid_grant", "signed_out", "lock")
        try expectProof(of: answer, presented: pair.refresh, storedKey: pair.answer.json?["verdict_key"])
        let proof = try answer.text("proof")
        let strange = try AuthClient(Site().serve()).get("/.well-known/jwks.json").json?["keys"]?.arrayValue?.first
        let keySet = try client.get("/.well-known/jwks.json").json?["keys"]?.arrayValue?.first
        for key in [strange, keySet] {
            let set: JSONObject = ["keys": [try #require(key)]]
            let keys = try JWKSet.parse(set.encoded())
            #expect(throws: JOSEError.self) { try UnverifiedJWS(proof).verifySignature { keys[$0] } }
            // Nor under its own name.
            #expect(throws: JOSEError.self) {
                try UnverifiedJWS(proof).verifySignature { _ in keys.keys.first?.key }
            }
        }
    }
}
