import AuthDomain
import AuthTesting
import HTTP
import JSON
import Primitives
import Testing

@testable import AuthAPI

@Suite("Pipeline")
struct PipelineTests {
    private let world = World()

    @Test(
        "an unknown path is 404 in the one shape",
        arguments: ["/", "/auth/nothing", "/auth/token/", "/auth//token", "/Auth/token"])
    func notFound(target: String) async throws {
        try await world.send("GET", target).isRefusal(404, "invalid_request", "not_found", "none")
    }

    @Test(
        "a method that a path has not is 405 and names those it has",
        arguments: [
            ("DELETE", "/auth/token", "POST, GET, HEAD"), ("GET", "/auth/sign-out", "POST"),
            ("PUT", "/auth/devices/a", "GET, HEAD, PATCH, DELETE"), ("POST", "/.well-known/jwks.json", "GET, HEAD"),
            ("OPTIONS", "/livez", "GET, HEAD"), ("get", "/livez", "GET, HEAD"),
        ])
    func methodNotAllowed(method: String, target: String, allowed: String) async throws {
        let reply = try await world.send(method, target)
        try reply.isRefusal(405, "invalid_request", "method_not_allowed", "none")
        #expect(reply.field("allow") == allowed)
    }

    @Test(
        "content of a type that the route does not take is 415",
        arguments: [
            "text/plain", "application/xml", "application/json; charset=utf-16", "multipart/form-data; boundary=a",
            "json",
            "application/jsonp",
        ])
    func mediaType(type: String) async throws {
        try await world.send("POST", "/auth/token", ["Content-Type: \(type)"], body: "grant_type=refresh_token")
            .isRefusal(415, "invalid_request", "unsupported_media_type", "none")
    }

    @Test("content without a type is 415, and no content needs none")
    func noMediaType() async throws {
        try await world.send("POST", "/auth/token", body: "grant_type=refresh_token")
            .isRefusal(415, "invalid_request", "unsupported_media_type", "none")
        try await world.send("POST", "/auth/token").isBad()
    }

    @Test("a route that takes JSON alone refuses a form")
    func formWhereJSON() async throws {
        let access = try await world.signedIn().access
        try await world.send(
            "POST", "/auth/sign-out",
            ["Authorization: Bearer \(access)", "Content-Type: application/x-www-form-urlencoded"],
            body: "everywhere=true"
        ).isRefusal(415, "invalid_request", "unsupported_media_type", "none")
    }

    @Test(
        "what the parser refuses has the one shape and ends the connection",
        arguments: [
            ("GET / HTTP/1.1\r\n\r\n", 400, "request_malformed"), ("GET / HTTP/2.0\r\n", 505, "version_unsupported"),
            ("CONNECT a:1 HTTP/1.1\r\n", 501, "not_implemented"),
            ("GET /\(String(repeating: "a", count: 9_000)) HTTP/1.1\r\n", 414, "uri_too_long"),
            ("GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 17_000))", 431, "fields_too_large"),
            ("GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417, "expectation_unknown"),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n", 413, "request_too_large"),
        ])
    func parserRefusals(text: String, status: Int, reason: String) async throws {
        let reply = try await world.send(Array(text.utf8))
        try reply.isRefusal(status, "invalid_request", reason, "none")
        #expect(reply.response.closesConnection)
    }

    @Test("an overloaded server says when to come back")
    func overloaded() throws {
        try Reply(world.api.refuse(.overloaded)).isRefusal(503, "temporarily_unavailable", "busy", "retry")
    }

    @Test("the times of Retry-After are spread")
    func spread() throws {
        let seconds = Set((0..<100).map { _ in world.api.refuse(.overloaded).field("retry-after") })
        #expect(seconds == ["1", "2", "3", "4", "5"])
    }

    @Test("a request has one log line with its route's template, never its path, and an id of its own")
    func logLine() async throws {
        let signedIn = try await world.signedIn()
        let reply = try await world.get("/auth/devices/\(signedIn.deviceID)", bearer: signedIn.access)
        #expect(world.log.lines.count == 2)
        let text = try #require(world.log.lines.last)
        let line = try #require(try JSONParser.parse(Array(text.utf8)).objectValue)
        #expect(line["message"] == "request")
        #expect(line["level"] == "info")
        #expect(line["http.method"] == "GET")
        #expect(line["http.route"] == "/auth/devices/{id}")
        #expect(line["http.status"] == 200)
        #expect(line["duration.us"] == 0)
        #expect(line["request.id"]?.stringValue == reply.field("x-request-id"))
        #expect(!world.log.lines.joined().contains(signedIn.deviceID))
        let ids = Set(
            try await [reply, world.send("GET", "/livez"), world.send("GET", "/livez")].map { $0.field("x-request-id") }
        )
        #expect(ids.count == 3)
    }

    @Test("a refusal's log line has its reason, and an outage is a warning")
    func refusalLine() async throws {
        world.faults.failAlways(.busy)
        _ = try await world.exchange(world.session())
        _ = try await world.send("GET", "/nothing")
        let lines = try world.log.lines.map { try #require(try JSONParser.parse(Array($0.utf8)).objectValue) }
        #expect(lines.map { $0["error.reason"] } == ["busy", "not_found"])
        #expect(lines.map { $0["level"] } == ["warning", "info"])
        #expect(lines[1]["http.route"] == "none")
    }

    @Test("each operation has a name of its own, a summary, and no refusal twice")
    func table() {
        let routes = world.api.table.routes
        #expect(Set(routes.map(\.operation)).count == routes.count)
        for route in routes {
            #expect(route.summary.hasSuffix("."))
            #expect(Set(route.allErrors).count == route.allErrors.count, "\(route.operation)")
            #expect(route.pattern.parameterNames == route.inputs.filter { $0.place == .path }.map(\.name))
            let readsContent = route.inputs.contains { $0.place == .content }
            #expect(readsContent == !route.accepts.isEmpty, "\(route.operation)")
        }
    }

    @Test("only the named routes are open")
    func access() {
        let open = world.api.table.routes.filter { $0.access == .public }.map(\.operation)
        #expect(
            open == [
                "grantTokens", "revokeToken", "showKeySet", "showServerMetadata", "showOpenIDConfiguration",
                "showLiveness", "showReadiness", "showVersion", "showMetrics", "showAPIDescription",
            ])
        let services = world.api.table.routes.filter { $0.access == .resourceServer }.map(\.operation)
        #expect(services == ["introspectToken", "showRevocations"])
        let session = world.api.table.routes.filter { $0.access == .sessionToken }.map(\.operation)
        #expect(session == ["issueAccessToken"])
    }
}
