import AuthTesting
import Foundation
import Primitives
import Testing

@testable import FaultRun

/// Counts what it does; answers every request with `hello`.
private final class CountingServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let count = Locked(0)

    init() throws {
        (listener, port) = try Loopback.listen()
        Thread.detachNewThread { [listener, count] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0 else {
                    // Here and not in `deinit`: the number may be another socket's by the next call.
                    close(listener)
                    return
                }
                if !Loopback.receive(from: client).isEmpty {
                    count.withLock { $0 += 1 }
                    _ = Loopback.send(Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8)[...], to: client)
                }
                close(client)
            }
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    var done: Int { count.withLock { $0 } }
}

@Suite("Cut relay")
struct CutRelayTests {
    private let server: CountingServer
    private let relay: CutRelay

    init() throws {
        server = try CountingServer()
        relay = try CutRelay(to: server.port, .http)
    }

    private func ask() -> String? { try? HTTPClient(port: relay.port).send("GET", "/").text }

    @Test("passes what it is not told to lose")
    func pass() {
        #expect(ask() == "hello")
        #expect(relay.takeStrikes() == 0)
        relay.close()
    }

    struct Loss: Sendable {
        let mode: CutRelay.Mode
        let done: Int
    }

    @Test(
        "loses the answer of work that is done, the request of work that is not begun, the half of an answer",
        arguments: [
            Loss(mode: .loseAnswers(share: 1), done: 1), Loss(mode: .loseRequests(share: 1), done: 0),
            Loss(mode: .halveAnswers(share: 1), done: 1), Loss(mode: .refuse, done: 0),
        ])
    func losses(loss: Loss) {
        relay.mode = loss.mode
        #expect(ask() == nil)
        #expect(server.done == loss.done)
        #expect(relay.takeStrikes() == 1)
        #expect(relay.takeStrikes() == 0, "a count that was taken is gone")
        relay.mode = .pass
        #expect(ask() == "hello")
        relay.close()
    }

    @Test("half of an answer is what the client gets of it")
    func half() throws {
        relay.mode = .halveAnswers(share: 1)
        let client = try #require(Loopback.connect(to: relay.port))
        defer { close(client) }
        _ = Loopback.send(Array("GET / HTTP/1.1\r\n\r\n".utf8)[...], to: client)
        let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".utf8)
        #expect(Loopback.receive(from: client) == Array(answer.prefix(answer.count / 2)))
        relay.close()
    }

    @Test("a black hole says nothing until it ends, then all moves on")
    func blackHole() throws {
        relay.mode = .blackHole
        let client = try #require(Loopback.connect(to: relay.port))
        defer { close(client) }
        _ = Loopback.send(Array("GET / HTTP/1.1\r\n\r\n".utf8)[...], to: client)
        usleep(150_000)
        #expect(Loopback.receive(from: client, flags: Int32(MSG_DONTWAIT)).isEmpty)
        #expect(server.done == 0)
        relay.mode = .pass
        #expect(!Loopback.receive(from: client).isEmpty)
        #expect(relay.takeStrikes() == 1)
        relay.close()
    }

    @Test("a delay holds each answer for its time")
    func delay() {
        relay.mode = .delay(seconds: 0.1)
        let start = ContinuousClock.now
        #expect(ask() == "hello")
        #expect(start.duration(to: .now) >= .milliseconds(100))
        #expect(relay.takeStrikes() == 1)
        relay.close()
    }

    @Test("a share loses about that share")
    func share() {
        relay.mode = .loseRequests(share: 0.5)
        let lost = (0..<60).filter { _ in ask() == nil }.count
        #expect((10...50).contains(lost))
        #expect(lost == relay.takeStrikes())
        #expect(server.done == 60 - lost)
        relay.close()
    }

    @Test("Postgres: a lost acknowledgement leaves the row changed, a lost write does not")
    func postgres() throws {
        let cluster = try ScratchCluster.shared
        let database = try cluster.database()
        try database.sql("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
        let relay = try CutRelay(to: cluster.port, .postgres)
        defer { relay.close() }

        func update(to value: Int, _ mode: CutRelay.Mode) throws -> Bool {
            relay.mode = .pass
            let client = try #require(Loopback.connect(to: relay.port))
            defer { close(client) }
            let start = Array("\0\u{3}\0\0user\0postgres\0database\0\(database.name)\0\0".utf8)
            _ = Loopback.send(([0, 0, 0, UInt8(start.count + 4)] + start)[...], to: client)
            #expect(read(client))
            relay.mode = mode
            let query = Array("UPDATE t SET a = \(value)\0".utf8)
            _ = Loopback.send(([UInt8(ascii: "Q"), 0, 0, 0, UInt8(query.count + 4)] + query)[...], to: client)
            return read(client)
        }
        /// Until ReadyForQuery in the idle state, or the end.
        func read(_ client: Int32) -> Bool {
            var bytes: [UInt8] = []
            while bytes.suffix(6) != [UInt8(ascii: "Z"), 0, 0, 0, 5, UInt8(ascii: "I")] {
                let more = Loopback.receive(from: client)
                if more.isEmpty { return false }
                bytes += more
            }
            return true
        }
        #expect(try update(to: 2, .pass))
        #expect(try !update(to: 3, .loseAnswers(share: 1)))
        #expect(try database.sql("SELECT a FROM t") == [["3"]])
        #expect(try !update(to: 4, .loseRequests(share: 1)))
        #expect(try database.sql("SELECT a FROM t") == [["3"]])
        #expect(relay.takeStrikes() == 2)
    }
}
