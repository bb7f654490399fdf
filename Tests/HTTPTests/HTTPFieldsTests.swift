import HTTP
import Testing

@Suite("Fields")
struct HTTPFieldsTests {
    @Test("names are compared without case and kept as written")
    func names() {
        var fields: HTTPFields = ["Content-Type": "text/plain", "X-A": "1"]
        fields.append("x-a", "2")
        #expect(fields["X-A"] == "1, 2")
        #expect(fields.map(\.name) == ["Content-Type", "X-A", "x-a"])
        fields.set("x-A", "3")
        #expect(fields.values(of: "x-a") == ["3"])
        #expect(fields.count == 2)
        fields.remove("CONTENT-type")
        #expect(!fields.contains("content-type"))
    }

    @Test("a text that is not a token is no field name", arguments: ["", "a b", "a:", "a\r\n", "ä", "a\u{0}", "(a)"])
    func badNames(text: String) {
        #expect(HTTPFieldName(text) == nil)
        #expect(HTTPMethod(text) == nil)
    }

    @Test(
        "a control in a value is sent as %XX and never as itself",
        arguments: [
            ("a\r\nSet-Cookie: b", "a%0D%0ASet-Cookie: b"), ("a\u{0}b", "a%00b"), ("\ra", "%0Da"), ("a\u{7f}", "a%7F"),
            ("a\r\nb", "a%0D%0Ab"), (" a\tb ", "a\tb"), ("ü", "ü"), ("", ""),
        ])
    func controls(value: String, sent: String) {
        let fields: HTTPFields = ["Location": value]
        #expect(fields["location"] == sent)
        var output: [UInt8] = []
        ResponseSerializer.append(
            HTTPResponse(status: .found, fields: fields),
            .init(isHead: false, version: .http11, keepsConnection: true, date: []),
            to: &output)
        #expect(output.count { $0 == 0x0a } == 5)
    }

    @Test("a value that is not UTF-8 is read byte by byte")
    func latin1Values() {
        let bytes = latin1("GET / HTTP/1.1\r\nHost: a\r\nX: \u{e4}\r\nY: \u{c3}\u{a4}\r\n\r\n")
        let fields = ParserHarness.run(bytes).requests.first?.fields
        #expect(fields?["x"] == "ä")
        #expect(fields?["y"] == "ä")
        #expect(fields?.valueBytes(of: "x") == [[0xe4]])
    }
}
