import HTTP
import Testing

@Suite("Media type")
struct MediaTypeTests {
    @Test(
        "type and parameters are read without regard to case",
        arguments: [
            ("application/json", "application/json", nil),
            ("Application/JSON; Charset=\"UTF-8\"", "application/json", "UTF-8"),
            ("text/plain;charset=utf-8", "text/plain", "utf-8"),
            ("text/plain ; ; charset=\"a\\\"b\"", "text/plain", "a\"b"),
            ("text/plain;", "text/plain", nil),
        ])
    func accepted(text: String, essence: String, charset: String?) throws {
        let type = try #require(MediaType(text))
        #expect(type.essence == essence)
        #expect(type.parameter("charset") == charset)
    }

    @Test(
        "malformed types are refused",
        arguments: [
            "", "json", "/json", "application/", "application/json x", "application/json, text/plain", "a/b;c",
            "a/b;=c",
            "a/b;c=", "a/b;c=\"d", "a/b;c=\"\u{1}\"", "a/b;c=d;C=e", "a /b", "a/b;c =d",
        ])
    func refused(text: String) {
        #expect(MediaType(text) == nil)
    }
}
