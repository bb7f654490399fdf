import HTTP
import Testing

@Suite("Route matching")
struct RouteMatcherTests {
    private let matcher = RouteMatcher<String>([
        (.get, "/", "root"), (.get, "/auth/devices", "list"), (.get, "/auth/devices/{id}", "read"),
        (.delete, "/auth/devices/{id}", "revoke"), (.post, "/auth/devices/current", "current"),
        (.get, "/auth/devices/{device}/keys/{key}", "key"), (.get, "/auth/devices/current/keys", "keys"),
    ])

    private func match(_ method: HTTPMethod, _ target: String) throws -> RouteMatcher<String>.Match {
        matcher.match(method, try #require(RequestTarget(target)))
    }

    @Test(
        "the route that is found",
        arguments: [
            (HTTPMethod.get, "/", "root"), (.get, "/auth/devices?x=/y", "list"), (.head, "/auth/devices", "list"),
            (.get, "/auth/devices/7", "read"), (.delete, "/auth/devices/7", "revoke"),
            (.post, "/auth/devices/current", "current"),
            (.get, "/auth/%64evices", "list"), (.get, "/auth/devices/current/keys", "keys"),
            (.get, "/auth/devices/current/keys/1", "key"),
        ])
    func found(method: HTTPMethod, target: String, route: String) throws {
        guard case .found(let found, _) = try match(method, target) else {
            Issue.record("not found")
            return
        }
        #expect(found == route)
    }

    @Test("parameters are decoded, each under its name")
    func parameters() throws {
        guard case .found(_, let parameters) = try match(.get, "/auth/devices/a%2Fb/keys/%C3%A4") else {
            Issue.record("not found")
            return
        }
        #expect(parameters["device"] == "a/b")
        #expect(parameters["key"] == "ä")
        #expect(parameters["id"] == nil)
    }

    @Test(
        "what names nothing is not found",
        arguments: [
            "/auth", "/auth/", "/auth/devices/", "//auth/devices", "/auth/devices/7/", "/auth/devices/%2e%2e",
            "/auth/devices/..", "/auth/./devices", "/Auth/devices", "/auth/devices/%ff", "/auth/devices/%00",
            "/auth%2Fdevices", "/auth/devices/7/8",
        ])
    func notFound(target: String) throws {
        guard case .notFound = try match(.get, target) else {
            Issue.record("found")
            return
        }
    }

    @Test(
        "a known path with another method names those it knows",
        arguments: [
            (HTTPMethod.post, "/auth/devices", ["GET", "HEAD"]), (.post, "/auth/devices/7", ["GET", "HEAD", "DELETE"]),
            (.put, "/auth/devices/current", ["POST"]), (.get, "/auth/devices/current", ["POST"]),
            (.head, "/auth/devices/current/x", []),
        ])
    func allowed(method: HTTPMethod, target: String, names: [String]) throws {
        switch try match(method, target) {
        case .methodNotAllowed(let allowed): #expect(allowed.map(\.name) == names)
        case .notFound: #expect(names.isEmpty)
        case .found: Issue.record("found")
        }
    }

    @Test("HEAD goes to GET's route unless it has its own")
    func head() throws {
        let own = RouteMatcher<Int>([(.get, "/a", 1), (.head, "/a", 2), (.post, "/b", 3)])
        guard case .found(2, _) = own.match(.head, try #require(RequestTarget("/a"))) else {
            Issue.record("not its own")
            return
        }
        guard case .methodNotAllowed(let allowed) = own.match(.head, try #require(RequestTarget("/b"))) else {
            Issue.record("POST's")
            return
        }
        #expect(allowed == [.post])
    }

    @Test(
        "a malformed pattern is refused", arguments: ["", "a", "/a/", "//", "/{}", "/{a", "/a}", "/{a}/{a}", "/x{a}"])
    func badPatterns(text: String) {
        #expect(RoutePattern(text) == nil)
    }
}
