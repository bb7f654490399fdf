import HTTP
import Testing

@Suite("Response serializer")
struct ResponseSerializerTests {
    private func written(
        _ response: HTTPResponse, isHead: Bool = false, version: HTTPVersion = .http11, keeps: Bool = true
    ) -> String {
        var output: [UInt8] = []
        ResponseSerializer.append(
            response, .init(isHead: isHead, version: version, keepsConnection: keeps, date: Array("D".utf8)),
            to: &output)
        return latin1(output)
    }

    private let hello = HTTPResponse(status: .ok, fields: ["X-A": "b"], body: .bytes(Array("hello".utf8)))

    @Test("an answer has its length, the date and its content")
    func plain() {
        #expect(
            written(hello) == "HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 5\r\nDate: D\r\n\r\nhello")
    }

    @Test("HEAD gets the head of GET's answer alone")
    func head() {
        #expect(written(hello, isHead: true) + "hello" == written(hello))
        let prepared = HTTPResponse(PreparedResponse(status: .ok, fields: ["X-A": "b"], content: Array("hello".utf8)))
        #expect(written(prepared) == written(hello))
        #expect(written(prepared, isHead: true) == written(hello, isHead: true))
    }

    @Test("204 and 304 have neither content nor a length", arguments: [HTTPStatus.noContent, .notModified])
    func noContent(status: HTTPStatus) {
        let response = HTTPResponse(status: status, body: .bytes([1]))
        #expect(written(response) == "HTTP/1.1 \(status) \(status.reason)\r\nDate: D\r\n\r\n")
        let prepared = HTTPResponse(PreparedResponse(status: status, fields: [:], content: [1]))
        #expect(written(prepared) == written(response))
    }

    @Test("an answer without content says so")
    func empty() {
        #expect(written(HTTPResponse(status: .notFound)).contains("\r\nContent-Length: 0\r\n"))
    }

    @Test("framing fields of the application are dropped")
    func framingFields() {
        let response = HTTPResponse(
            status: .ok,
            fields: [
                "Content-Length": "9", "TRANSFER-encoding": "chunked", "Connection": "keep-alive", "Date": "x",
                "X": "y",
            ])
        #expect(written(response) == "HTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 0\r\nDate: D\r\n\r\n")
        let prepared = PreparedResponse(status: .ok, fields: response.fields, content: [])
        #expect(written(HTTPResponse(prepared)) == written(response))
    }

    @Test("the connection's end is announced, and its keeping to 1.0 clients")
    func connection() {
        #expect(written(hello, keeps: false).contains("\r\nConnection: close\r\n"))
        var closing = hello
        closing.closesConnection = true
        #expect(written(closing).contains("\r\nConnection: close\r\n"))
        #expect(written(hello, version: .http10).contains("\r\nConnection: keep-alive\r\n"))
        #expect(written(hello, version: .http10, keeps: false).contains("\r\nConnection: close\r\n"))
        #expect(!written(hello).contains("Connection"))
    }

    @Test("a prepared answer takes further fields")
    func preparedWithFields() {
        let prepared = PreparedResponse(status: .ok, fields: ["A": "1"], content: [])
        let response = HTTPResponse(prepared, fields: ["B": "2"])
        #expect(written(response) == "HTTP/1.1 200 OK\r\nA: 1\r\nContent-Length: 0\r\nB: 2\r\nDate: D\r\n\r\n")
        #expect(response.field("a") == "1" && response.field("b") == "2")
    }

    @Test("a status without a name has an empty phrase")
    func unnamed() {
        #expect(written(HTTPResponse(status: HTTPStatus(299))).hasPrefix("HTTP/1.1 299 \r\n"))
    }
}
