import AuthTesting
import JSON
import Primitives
import Testing

@Suite("Integration-test target, over sockets", .blocking)
struct TestTargetTests {
    private let loopback = ["SALLYPORT_ISSUER": "http://127.0.0.1:8080"]

    @Test("a test target refuses a database of production, and a server of production one of tests")
    func kinds() throws {
        let production = try Site(settings: loopback)
        _ = try production.serve().stop()
        let target = try production.start(["--test-target"])
        #expect(try target.process.wait() == 1)
        #expect(target.process.errorText.contains("marked as production"))

        let test = try Site(settings: loopback)
        _ = try test.serve(["--test-target"]).stop()
        let server = try test.start()
        #expect(try server.process.wait() == 1)
        #expect(server.process.errorText.contains("marked as test"))
        _ = try test.serve(["--test-target"])
    }

    @Test("a test target refuses a public issuer")
    func publicIssuer() throws {
        let target = try Site().start(["--test-target"])
        #expect(try target.process.wait() == 1)
        #expect(target.process.errorText.contains("loopback"))
    }

    @Test("the clock of the target moves what tokens say and what they are worth")
    func clock() throws {
        let site = try Site(settings: loopback)
        let client = try AuthClient(site.serve(["--test-target"]))
        let session = try site.tables.session(of: site.tables.user(), lifetime: .days(400))
        let pair = try client.signedIn(session.signed)
        let other = try client.signedIn(session.signed, installation: "installation-0002")
        let before = try client.get("/test/clock").integer("now")
        let moved = try client.call("POST", "/test/clock/advance", json: ["seconds": .integer(29 * 86_400)])
        #expect(try moved.integer("now") - before >= 29 * 86_400)
        #expect(moved.field("x-sallyport-test-target") == "true")
        #expect(try client.get("/auth/devices", bearer: pair.access).text("error_reason") == "access_expired")
        let next = try client.refreshed(pair.refresh)
        let first = try #require(try pair.accessClaims["exp"]?.integerValue)
        let second = try #require(try next.accessClaims["exp"]?.integerValue)
        #expect(second - first >= 29 * 86_400)

        _ = try client.call("POST", "/test/clock/advance", json: ["seconds": .integer(2 * 86_400)])
        let expired = try client.refresh(other.refresh)
        #expect(try expired.status == 400 && expired.text("error_reason") == "refresh_expired")
        #expect(try expired.text("client_action") == "lock")
        #expect(try client.refreshed(next.refresh).generation == 3)
        #expect(try client.call("POST", "/test/reset").status == 204)
        #expect(try client.get("/test/clock").integer("now") - before < 3_600)
    }

    @Test("the switches are for this machine's own tests only: no other origin, host, proxy or type")
    func guarded() throws {
        let site = try Site(settings: loopback)
        let client = try AuthClient(site.serve(["--test-target"]))
        let body = Array(#"{"seconds":60}"#.utf8)
        let json = ("Content-Type", "application/json")
        for fields in [
            [json, ("Origin", "http://127.0.0.1:8080")], [json, ("Forwarded", "for=192.0.2.1")],
            [json, ("X-Forwarded-For", "192.0.2.1")], [("Content-Type", "text/plain")],
        ] {
            let answer = try client.http.send("POST", "/test/clock/advance", fields: fields, body: body)
            #expect(answer.status == 404, "\(fields)")
        }
        let connection = try client.http.connect()
        try connection.send(bytes: Array("GET /test/clock HTTP/1.1\r\nHost: evil.example\r\n\r\n".utf8))
        #expect(try connection.answer().status == 404)
        #expect(try client.http.send("POST", "/test/clock/advance", fields: [json], body: body).status == 200)

        let production = try AuthClient(Site(settings: loopback).serve())
        let answer = try production.get("/test/clock")
        #expect(answer.status == 404 && answer.field("x-sallyport-test-target") == nil)
    }
}
