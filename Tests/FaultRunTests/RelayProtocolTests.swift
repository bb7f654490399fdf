import Testing

@testable import FaultRun

@Suite("Relay protocols")
struct RelayProtocolTests {
    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static func message(_ kind: Character, _ body: String) -> [UInt8] {
        let bytes = Array(body.utf8)
        return Array(kind.utf8) + [0, 0, 0, UInt8(bytes.count + 4)] + bytes
    }

    private static let startup: [UInt8] = [0, 0, 0, 13, 0, 3, 0, 0] + Array("user\0".utf8)

    @Test("an HTTP request and its answer are messages, at every split")
    func http() {
        let bytes = Self.text("POST /a HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET /b HTTP/1.1\r\n\r\n")
        for split in 0...bytes.count {
            var exchange = HTTPExchange()
            let requests = exchange.fromClient(Array(bytes[..<split])) + exchange.fromClient(Array(bytes[split...]))
            #expect(requests.map(\.meaning) == [.work, .work], "\(split)")
            #expect(requests.flatMap(\.bytes) == bytes)
        }
        var exchange = HTTPExchange()
        #expect(exchange.fromServer(Self.text("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na")).isEmpty)
        #expect(exchange.fromServer(Self.text("b")).map(\.meaning) == [.done])
        #expect(exchange.fromServer(Self.text("HTTP/1.1 204 No Content\r\n\r\n")).map(\.meaning) == [.done])
        // Without a length the answer ends with the connection.
        #expect(exchange.fromServer(Self.text("HTTP/1.1 200 OK\r\n\r\nab")).isEmpty)
        #expect(exchange.endOfServer().map(\.meaning) == [.done])
    }

    @Test("an update of its own is work when it is executed, and done when the server is ready for the next")
    func autocommit() {
        let sent =
            Self.message("P", "rotate\0UPDATE t SET a = 1\0\0\0") + Self.message("B", "\0rotate\0\0\0\0\0\0\0")
            + Self.message("E", "\0\0\0\0\0") + Self.message("S", "")
        let answer = Self.message("C", "UPDATE 1\0") + Self.message("Z", "I")
        for split in 0...answer.count {
            var exchange = PostgresExchange()
            #expect(exchange.fromClient(Self.startup).map(\.meaning) == [.other])
            #expect(
                exchange.fromServer(Self.message("R", "") + Self.message("Z", "I")).map(\.meaning) == [.other, .other])
            #expect(exchange.fromClient(sent).map(\.meaning) == [.other, .other, .work, .other])
            let answers = exchange.fromServer(Array(answer[..<split])) + exchange.fromServer(Array(answer[split...]))
            #expect(answers == [RelayedMessage(bytes: answer, meaning: .done)], "\(split)")
        }
    }

    @Test("inside a transaction it is the COMMIT whose word matters")
    func transaction() {
        var exchange = PostgresExchange()
        _ = exchange.fromClient(Self.startup)
        #expect(exchange.fromClient(Self.message("Q", "BEGIN\0")).map(\.meaning) == [.other])
        #expect(
            exchange.fromServer(Self.message("C", "BEGIN\0") + Self.message("Z", "T")).map(\.meaning) == [
                .other, .other,
            ])
        #expect(exchange.fromClient(Self.message("Q", "UPDATE t SET a = 1\0")).map(\.meaning) == [.work])
        #expect(
            exchange.fromServer(Self.message("C", "UPDATE 1\0") + Self.message("Z", "T")).map(\.meaning) == [.other])
        #expect(exchange.fromClient(Self.message("Q", "COMMIT\0")).map(\.meaning) == [.work])
        #expect(exchange.fromServer(Self.message("C", "COMMIT\0") + Self.message("Z", "I")).map(\.meaning) == [.done])
    }

    @Test(
        "what does not write is no work, and a write that failed is not done",
        arguments: ["SELECT a FROM t", "SELECT a FROM t FOR UPDATE", "SET x = 1", "SELECT updated_at FROM t", "BEGIN"])
    func reads(text: String) {
        var exchange = PostgresExchange()
        _ = exchange.fromClient(Self.startup)
        #expect(exchange.fromClient(Self.message("Q", text + "\0")).map(\.meaning) == [.other])
        #expect(exchange.fromServer(Self.message("Z", "I")).map(\.meaning) == [.other])
        #expect(exchange.fromClient(Self.message("Q", "UPDATE t SET a = 1\0")).map(\.meaning) == [.work])
        #expect(exchange.fromServer(Self.message("E", "S") + Self.message("Z", "I")).map(\.meaning) == [.other])
    }

    @Test("pipelined exchanges are answered in their order")
    func pipeline() {
        var exchange = PostgresExchange()
        _ = exchange.fromClient(Self.startup)
        for text in ["SELECT 1\0", "INSERT INTO t VALUES (1)\0", "SELECT 2\0"] {
            _ = exchange.fromClient(Self.message("Q", text))
        }
        let ready = Self.message("Z", "I")
        #expect(exchange.fromServer(ready + ready + ready).map(\.meaning) == [.other, .done, .other])
    }

    @Test("a request for encryption is answered by one byte, and the startup follows")
    func encryption() {
        var exchange = PostgresExchange()
        #expect(exchange.fromClient([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]).count == 1)
        #expect(exchange.fromServer(Self.text("N")).map(\.bytes) == [Self.text("N")])
        #expect(exchange.fromClient(Self.startup).map(\.bytes) == [Self.startup])
        #expect(exchange.fromClient(Self.message("Q", "COMMIT\0")).map(\.meaning) == [.work])
    }
}
