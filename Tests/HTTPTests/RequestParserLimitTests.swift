import HTTP
import Testing

/// Each limit at its edge: the greatest that passes and the least that does not, whole and byte by byte.
@Suite("Request parser, limits")
struct RequestParserLimitTests {
    private let limits = HTTPLimits(
        requestLineBytesMax: 40, fieldsMax: 4, fieldBytesMax: 100, bodyBytesMax: 10, chunkExtensionBytesMax: 8,
        chunksMax: 4, trailersMax: 2, trailerBytesMax: 24)

    private func error(_ text: String) -> HTTPParseError? {
        let bytes = latin1(text)
        let whole = ParserHarness.run(bytes, limits: limits)
        #expect(ParserHarness.runBytewise(bytes, limits: limits) == whole)
        for index in 0...bytes.count { #expect(ParserHarness.run(bytes, splitAt: index, limits: limits) == whole) }
        #expect(whole.error != nil || whole.requests.count == 1)
        return whole.error
    }

    private func text(_ count: Int) -> String { String(repeating: "a", count: count) }

    @Test("a request line of the limit passes, one byte more is 414")
    func requestLine() {
        // "GET /" and " HTTP/1.1" are 14 bytes.
        #expect(error("GET /\(text(26)) HTTP/1.1\r\nHost: a\r\n\r\n") == nil)
        #expect(error("GET /\(text(27)) HTTP/1.1\r\nHost: a\r\n\r\n") == .targetTooLong)
        #expect(error("GET /\(text(60))") == .targetTooLong)
        // Without its end: the 41st byte may still be the CR, the 42nd cannot.
        #expect(ParserHarness.run("GET /\(text(36))", limits: limits).error == nil)
        #expect(ParserHarness.run("GET /\(text(37))", limits: limits).error == .targetTooLong)
    }

    @Test("fields of the limit pass, one more is 431")
    func fieldCount() {
        #expect(error("GET / HTTP/1.1\r\nHost: a\r\nA: b\r\nA: b\r\nA: b\r\n\r\n") == nil)
        #expect(error("GET / HTTP/1.1\r\nHost: a\r\nA: b\r\nA: b\r\nA: b\r\nA: b\r\n\r\n") == .fieldsTooLarge)
    }

    @Test("field bytes of the limit pass, one more is 431")
    func fieldBytes() {
        // "Host: a" is 9 bytes with its end, "A: " and an end are 5, the last line is 2.
        #expect(error("GET / HTTP/1.1\r\nHost: a\r\nA: \(text(84))\r\n\r\n") == nil)
        #expect(error("GET / HTTP/1.1\r\nHost: a\r\nA: \(text(85))\r\n\r\n") == .fieldsTooLarge)
        #expect(error("GET / HTTP/1.1\r\nHost: a\r\nA: \(text(200))") == .fieldsTooLarge)
    }

    @Test("content of the limit passes, one byte more is 413 before any of it is there")
    func content() {
        #expect(error("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n\(text(10))") == nil)
        #expect(error("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n") == .bodyTooLarge)
        #expect(error("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n") == .bodyTooLarge)
    }

    private func chunked(_ body: String) -> HTTPParseError? {
        error("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
    }

    @Test("the chunks of a body share the content's limit")
    func chunkedContent() {
        #expect(chunked("5\r\n\(text(5))\r\n5\r\n\(text(5))\r\n0\r\n\r\n") == nil)
        #expect(chunked("5\r\n\(text(5))\r\n6\r\n") == .bodyTooLarge)
        #expect(chunked("ffffffffffffffff\r\n") == .bodyTooLarge)
        #expect(chunked("00000000000000001\r\n") == .malformed(.chunk))
    }

    @Test("chunks, extensions and trailers have limits of their own")
    func chunkCosts() {
        #expect(chunked("1\r\na\r\n1\r\na\r\n1\r\na\r\n0\r\n\r\n") == nil)
        #expect(chunked("1\r\na\r\n1\r\na\r\n1\r\na\r\n1\r\na\r\n0\r\n\r\n") == .bodyTooLarge)
        #expect(chunked("1;a=b\r\na\r\n1;a=b\r\na\r\n0\r\n\r\n") == nil)
        #expect(chunked("1;a=b\r\na\r\n1;a=bc\r\na\r\n0\r\n\r\n") == .bodyTooLarge)
        #expect(chunked("0\r\nA: b\r\nA: b\r\n\r\n") == nil)
        #expect(chunked("0\r\nA: b\r\nA: b\r\nA: b\r\n\r\n") == .fieldsTooLarge)
        #expect(chunked("0\r\nA: \(text(17))\r\n\r\n") == nil)
        #expect(chunked("0\r\nA: \(text(18))\r\n\r\n") == .fieldsTooLarge)
    }
}
