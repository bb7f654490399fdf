import AuthDomain
import AuthTesting
import HTTP
import JSON
import Testing

@Suite("Server metadata (RFC 8414)")
struct ServerMetadataTests {
    private let documents = ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"]

    @Test("both documents name the issuer and endpoints that answer there", arguments: [0, 1])
    func endpoints(which: Int) async throws {
        let world = World()
        let reply = try await world.send("GET", documents[which])
        let body = try reply.ok()
        #expect(reply.field("access-control-allow-origin") == "*")
        #expect(reply.field("cache-control") == "public, max-age=300")
        #expect(body["issuer"] == .string(World.issuer))
        for name in ["token_endpoint", "revocation_endpoint", "introspection_endpoint", "jwks_uri"] {
            let address = try body.text(name)
            #expect(address.hasPrefix(World.issuer + "/"))
            let path = String(address.dropFirst(World.issuer.count))
            let served = try await world.send(name == "jwks_uri" ? "GET" : "POST", path)
            #expect(![404, 405].contains(served.status), "\(name)")
        }
    }

    @Test("the grants that it names are the ones that are understood, and no response type is")
    func grants() async throws {
        let world = World()
        let body = try await world.send("GET", documents[0]).ok()
        #expect(body["grant_types_supported"] == ["refresh_token", .string(World.exchangeGrant)])
        #expect(body["response_types_supported"] == ["code"])
        for grant in try #require(body["grant_types_supported"]?.arrayValue).compactMap(\.stringValue) {
            try await world.token([("grant_type", grant)]).isBad()
        }
        try await world.token([("grant_type", "password")]).isBad("grant_unsupported", "unsupported_grant_type")
        #expect(body["authorization_endpoint"] == nil && body["registration_endpoint"] == nil)
    }

    @Test("OpenID readers find what they require")
    func openID() async throws {
        let body = try await World().send("GET", documents[1]).ok()
        #expect(body["subject_types_supported"] == ["public"])
        #expect(body["id_token_signing_alg_values_supported"] == ["RS256"])
        #expect(try await World().send("GET", documents[0]).ok()["subject_types_supported"] == nil)
    }

    @Test("a cache that has it gets 304")
    func notModified() async throws {
        let world = World()
        let tag = try #require(try await world.send("GET", documents[0]).field("etag"))
        let reply = try await world.send("GET", documents[0], ["If-None-Match: \(tag)"])
        #expect(reply.status == 304 && reply.response.content.isEmpty)
        #expect(try await world.send("GET", documents[0], ["If-None-Match: \"other\""]).status == 200)
    }

    @Test(
        "an issuer with a path is found by insertion and by appending, and its endpoints answer below the path",
        arguments: [
            "/.well-known/oauth-authorization-server/tenant/a", "/.well-known/openid-configuration/tenant/a",
            "/tenant/a/.well-known/openid-configuration", "/tenant/a/.well-known/oauth-authorization-server",
            "/.well-known/oauth-authorization-server",
        ])
    func path(target: String) async throws {
        let world = World(issuer: World.issuer + "/tenant/a")
        let body = try await world.send("GET", target).ok()
        #expect(body["issuer"] == "https://auth.example.com/tenant/a")
        #expect(body["token_endpoint"] == "https://auth.example.com/tenant/a/auth/token")
        for path in ["/tenant/a/auth/token", "/auth/token"] { try await world.send("POST", path).isBad() }
        #expect(try await world.send("GET", "/tenant/a/.well-known/jwks.json").status == 200)
        let others = [
            "/tenant/b/.well-known/openid-configuration", "/tenant/a/.well-known/openid-configuration/tenant/a",
            "/.well-known/oauth-authorization-server/tenant", "/tenant/ab/auth/token", "/tenant/a",
        ]
        for other in others { #expect(try await world.send("GET", other).status == 404) }
    }
}
