import HTTP
import Testing

@Suite("Request parser")
struct RequestParserTests {
    private let get = "GET /a HTTP/1.1\r\nHost: a.example\r\n\r\n"

    @Test("a head keeps its fields in order with their names as sent")
    func head() throws {
        let text = "GET /a?b=c HTTP/1.1\r\nHost: a.example\r\nX-One:  1 \t\r\nx-ONE: 2\r\nX-Empty:\r\n\r\n"
        let request = try #require(ParserHarness.run(text).requests.first)
        #expect(request.method == .get)
        #expect(request.target.path == "/a")
        #expect(request.target.query == "b=c")
        #expect(request.version == .http11)
        #expect(request.fields.map(\.name) == ["Host", "X-One", "x-ONE", "X-Empty"])
        #expect(request.fields["X-one"] == "1, 2")
        #expect(request.fields.values(of: "x-one") == ["1", "2"])
        #expect(request.fields["x-empty"] == "")
        #expect(request.fields["x-none"] == nil)
        #expect(request.authority == "a.example")
    }

    @Test("nothing behind a message's end belongs to it")
    func pipelined() {
        let text = "POST /a HTTP/1.1\r\nHost: a.example\r\nContent-Length: 2\r\n\r\nok" + get + "POST /c"
        let transcript = ParserHarness.run(text)
        #expect(transcript.requests.map(\.target.path) == ["/a", "/a"])
        #expect(transcript.requests.map(\.body) == [Array("ok".utf8), []])
        #expect(transcript.isCut)
        #expect(transcript.error == nil)
    }

    @Test("a stream is inside a message from its first byte to its last")
    func insideMessage() {
        var parser = RequestParser()
        #expect(!parser.isInsideMessage)
        parser.append("G".utf8)
        #expect(parser.isInsideMessage)
        parser.append(get.utf8.dropFirst())
        #expect(events(&parser) == ["head", "end", "needMore"])
        #expect(!parser.isInsideMessage)
    }

    @Test("the head of a body that is still to come is handed out at once")
    func headBeforeBody() {
        var parser = RequestParser()
        parser.append("POST /a HTTP/1.1\r\nHost: a.example\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n".utf8)
        #expect(events(&parser) == ["head", "needMore"])
        parser.append("o".utf8)
        #expect(events(&parser) == ["needMore"])
        parser.append("k".utf8)
        #expect(events(&parser) == ["end", "needMore"])
    }

    @Test("after a failure nothing more comes out")
    func failureIsFinal() {
        var parser = RequestParser()
        parser.append("nonsense\r\n\r\n".utf8)
        #expect(events(&parser) == ["failed 400"])
        parser.append(get.utf8)
        #expect(events(&parser) == ["failed 400"])
    }

    @Test("what is no HTTP fails by its first byte", arguments: [0x00, 0x0a, 0x16, 0x20, 0x7b, 0x80] as [UInt8])
    func foreignProtocol(first: UInt8) {
        #expect(ParserHarness.run([first]).error == .malformed(.requestLine))
    }

    @Test("Expect counts only in 1.1 and only where content follows")
    func expectation() {
        func expects(_ line: String, _ fields: String) -> [Bool] {
            ParserHarness.run("\(line)\r\nHost: a.example\r\n\(fields)\r\n\r\nok").expectsContinue
        }
        #expect(expects("POST /a HTTP/1.1", "Content-Length: 2\r\nExpect: 100-Continue") == [true])
        #expect(expects("POST /a HTTP/1.0", "Content-Length: 2\r\nExpect: 100-continue") == [false])
        #expect(expects("GET /a HTTP/1.1", "Expect: 100-continue") == [false])
    }

    @Test(
        "a connection is kept by version and options",
        arguments: [
            ("HTTP/1.1", "X: y", true), ("HTTP/1.1", "Connection: close", false),
            ("HTTP/1.1", "Connection: x ,\tClose", false), ("HTTP/1.1", "Connection: closed", true),
            ("HTTP/1.0", "X: y", false), ("HTTP/1.0", "Connection: Keep-Alive", true),
            ("HTTP/1.0", "Connection: keep-alive, close", false), ("HTTP/1.2", "X: y", true),
        ])
    func keepsConnection(version: String, field: String, keeps: Bool) {
        let text = "GET /a \(version)\r\nHost: a.example\r\n\(field)\r\n\r\n"
        #expect(ParserHarness.run(text).keepsConnection == [keeps])
    }

    @Test(
        "each refusal has its error",
        arguments: [
            ("GET /a HTTP/2.0\r\n", HTTPParseError.versionUnsupported),
            ("GET /a HTTP/1.10\r\n", .malformed(.requestLine)),
            ("CONNECT a.example:443 HTTP/1.1\r\n", .notImplemented),
            ("GET /a#b HTTP/1.1\r\n", .malformed(.target)),
            ("GET /a%2 HTTP/1.1\r\n", .malformed(.target)),
            ("GET http://u@a.example/ HTTP/1.1\r\n", .malformed(.target)),
            ("GET /a HTTP/1.1\r\nHost: a.example\r\nHost: a.example\r\n", .malformed(.host)),
            ("GET http://b.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n", .malformed(.host)),
            ("GET /a HTTP/1.1\r\nHost: a.example:\r\n", .malformed(.host)),
            ("GET /a HTTP/1.1\r\nX : y\r\n", .malformed(.field)),
            ("GET /a HTTP/1.1\r\nAuthorization: a\r\nAuthorization: b\r\n", .malformed(.repeatedField)),
            ("GET /a HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n", .expectationUnknown),
            ("GET /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", .notImplemented),
            (
                "GET /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\nContent-Length: 1\r\n\r\n",
                .malformed(.framing)
            ),
            ("GET /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;\r\n", .malformed(.chunk)),
        ])
    func refusals(text: String, error: HTTPParseError) {
        let transcript = ParserHarness.run(text)
        #expect(transcript.error == error)
        #expect(transcript.requests.isEmpty)
        #expect(ParserHarness.runBytewise(latin1(text)).error == error)
    }

    @Test("one empty line ahead of a request is skipped, two are not")
    func leadingEmptyLines() {
        #expect(ParserHarness.run("\r\n" + get).requests.count == 1)
        #expect(ParserHarness.run("\r\n\r\n" + get).error == .malformed(.requestLine))
        #expect(ParserHarness.run("\rG").error == .malformed(.requestLine))
        #expect(ParserHarness.run(get + "\r\n" + get).requests.count == 2)
    }

    @Test("every control byte but the tab is refused in a value, wherever it stands")
    func controlsInValues() {
        for byte in (0...255).map({ UInt8($0) }) where byte != 0x0a {
            for position in 0..<20 {
                var value = Array("aaaaaaaaaaaaaaaaaaaa".utf8)
                value[position] = byte
                let bytes = latin1("GET /a HTTP/1.1\r\nHost: a\r\nX: b") + value + latin1("c\r\n\r\n")
                let isRefused = byte < 0x20 && byte != 0x09 || byte == 0x7f
                #expect((ParserHarness.run(bytes).error == .malformed(.field)) == isRefused, "\(byte) at \(position)")
            }
        }
    }

    private func events(_ parser: inout RequestParser) -> [String] {
        var events: [String] = []
        while true {
            switch parser.next() {
            case .needMore: return events + ["needMore"]
            case .head: events.append("head")
            case .end: events.append("end")
            case .failed(let error): return events + ["failed \(error.status)"]
            }
        }
    }
}
