import AuthDomain
import AuthTesting
import HTTP
import JSON
import Primitives
import Testing

@Suite("Revocation (RFC 7009)")
struct RevocationRouteTests {
    private let world = World()

    private func revoke(_ fields: [(String, String)]) async throws -> Reply {
        try await world.send(
            "POST", "/auth/revoke", ["Content-Type: application/x-www-form-urlencoded"],
            body: FormCoding.encode(fields.map { (name: $0.0, value: $0.1) }))
    }

    private func isRevoked(_ reply: Reply) -> Bool { reply.status == 200 && reply.response.content.isEmpty }

    @Test(
        "a refresh token ends its device session, and no other, whatever the hint says and also as JSON",
        arguments: ["refresh_token", "access_token", "anything", nil])
    func refresh(hint: String?) async throws {
        let gone = try await world.signedIn()
        let kept = try await world.signedIn("session-2", installation: "installation-0002")
        let fields = [("token", gone.refresh)] + (hint.map { [("token_type_hint", $0)] } ?? [])
        for _ in 0..<2 { #expect(isRevoked(try await revoke(fields))) }
        let reply = try await world.send(
            "POST", "/auth/revoke", ["Content-Type: application/json"], body: #"{"token":"\#(gone.refresh)"}"#)
        #expect(isRevoked(reply))
        try await world.refresh(gone.refresh).isRefusal(400, "invalid_grant", "signed_out", "lock")
        try await world.get("/auth/devices", bearer: gone.access)
            .isRefusal(401, "invalid_token", "access_revoked", "refresh")
        #expect(try await world.refresh(kept.refresh).status == 200)
    }

    @Test("a device that lost the answer to its last rotation can still sign out with the older token")
    func olderGeneration() async throws {
        let old = try await world.signedIn()
        let new = try await world.refresh(old.refresh).ok().text("refresh_token")
        #expect(isRevoked(try await revoke([("token", old.refresh)])))
        try await world.refresh(new).isRefusal(400, "invalid_grant", "signed_out", "lock")
    }

    @Test("an access token ends alone: its device session and the next one live on")
    func access() async throws {
        let signedIn = try await world.signedIn()
        for _ in 0..<2 { #expect(isRevoked(try await revoke([("token", signedIn.access)]))) }
        try await world.get("/auth/session", bearer: signedIn.access)
            .isRefusal(401, "invalid_token", "access_revoked", "refresh")
        let next = try await world.refresh(signedIn.refresh).ok().text("access_token")
        #expect(try await world.get("/auth/session", bearer: next).status == 200)
    }

    @Test("what is no live token of ours is 200 and changes nothing")
    func unknown() async throws {
        let signedIn = try await world.signedIn()
        let cut = String(signedIn.refresh.dropLast(3))
        for token in ["unknown", "a.b.c", cut + "AAA", cut, world.session("session-9"), signedIn.refresh + "."] {
            #expect(isRevoked(try await revoke([("token", token)])))
        }
        #expect(try await world.refresh(signedIn.refresh).status == 200)
        world.clock.advance(by: .hours(1))
        #expect(isRevoked(try await revoke([("token", signedIn.access)])))
    }

    @Test("a token that was issued to another client is refused, and lives on")
    func otherClient() async throws {
        let signedIn = try await world.signedIn()
        for token in [signedIn.refresh, signedIn.access] {
            try await revoke([("token", token), ("client_id", "another")])
                .isRefusal(400, "invalid_grant", "token_foreign", "reauth")
        }
        #expect(try await world.get("/auth/session", bearer: signedIn.access).status == 200)
        #expect(isRevoked(try await revoke([("token", signedIn.refresh), ("client_id", "app")])))
        #expect(try await world.refresh(signedIn.refresh).status == 400)
    }

    @Test("no token, and a parameter that comes twice, are invalid_request; unknown parameters are ignored")
    func malformed() async throws {
        let signedIn = try await world.signedIn()
        try await revoke([]).isBad()
        try await revoke([("token", "")]).isBad()
        try await revoke([("token_type_hint", "refresh_token")]).isBad()
        try await revoke([("token", signedIn.refresh), ("token", signedIn.refresh)]).isBad()
        try await revoke([("token", signedIn.refresh), ("flavour", "a"), ("flavour", "b")]).isBad()
        #expect(try await world.get("/auth/session", bearer: signedIn.access).status == 200)
        #expect(isRevoked(try await revoke([("token", signedIn.refresh), ("flavour", "vanilla")])))
    }

    @Test("an outage is 503 and never 200", arguments: [PortCall.accessView, .endSession, .revokeAccessToken])
    func outage(call: PortCall) async throws {
        let signedIn = try await world.signedIn()
        world.faults.fail(before: call, .dependency)
        let token = call == .revokeAccessToken ? signedIn.access : signedIn.refresh
        try await revoke([("token", token)])
            .isRefusal(503, "temporarily_unavailable", "dependency", "retry")
    }
}
