import HTTP
import Testing

@Suite("Request target")
struct RequestTargetTests {
    @Test(
        "segments are decoded, and an encoded slash does not split",
        arguments: [
            ("/", []), ("/a", ["a"]), ("/a/b", ["a", "b"]), ("/a%2Fb/c", ["a/b", "c"]), ("/%65cho", ["echo"]),
            ("/%C3%A4", ["ä"]), ("/a?b/c", ["a"]), ("http://a.example", []), ("HTTP://a.example/a", ["a"]),
            ("http://a.example?q", []),
        ])
    func segments(text: String, segments: [String]) throws {
        #expect(try #require(RequestTarget(text)).segments == segments)
    }

    @Test(
        "a path with dot segments, empty segments, controls or broken UTF-8 names nothing",
        arguments: [
            "//", "/a/", "//a", "/a//b", "/.", "/a/..", "/%2e%2E/a", "/.%2e", "/%00", "/a%0d%0a", "/%ff%fe", "/%7f",
        ])
    func nothing(text: String) throws {
        #expect(try #require(RequestTarget(text)).segments == nil)
    }

    @Test(
        "a malformed target is refused",
        arguments: [
            "", "a", "?a", "/a b", "/a#b", "/a%", "/a%2", "/a%zz", "/ä", "/a\\b", "/\"", "/a?|", "/a?%", "**",
            "ftp://a.example/", "http:///a", "http://u@a.example/", "http://a.example:x/", "http:/a", "http://",
        ])
    func malformed(text: String) {
        #expect(RequestTarget(text) == nil)
    }

    @Test("path and query stay as sent, and the query is decoded when asked")
    func query() throws {
        let target = try #require(RequestTarget("/a%2Fb?x=1+2&y=%26&x"))
        #expect(target.path == "/a%2Fb")
        #expect(target.query == "x=1+2&y=%26&x")
        let fields = try target.queryFields()
        #expect(fields.map(\.name) == ["x", "y", "x"])
        #expect(fields.map(\.value) == ["1 2", "&", ""])
        #expect(try #require(RequestTarget("/a")).query == nil)
        #expect(try #require(RequestTarget("/a?")).query == "")
    }

    @Test(
        "hosts as resolvers take them",
        arguments: ["a", "a.b", "a.b.", "a:1", "[::1]", "[::1]:65535", "10.0.0.1:0", "a_b"])
    func hosts(host: String) {
        #expect(ParserHarness.run("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n").requests.count == 1)
    }

    @Test(
        "no other hosts",
        arguments: [
            "", ".", "a..b", ".a", "a:", "a:65536", "a:-1", "[::1", "::1", "[::1]x", "[]", "[v1.a]", "a,b", "a/b",
            "a@b",
            "a%41", "ä", "*",
        ])
    func badHosts(host: String) {
        #expect(ParserHarness.run("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n").error == .malformed(.host))
    }
}
