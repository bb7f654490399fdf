import HTTP
import HTTPServer
import Primitives
import Reactor
import Testing

/// Deadlines and the limit of connections, with the times short.
@Suite("Deadlines and limits")
struct DeadlineTests {
    private static let get = "GET /static HTTP/1.1\r\nHost: a.example\r\n\r\n"
    private static let short = Duration.milliseconds(200)

    /// What the client gets until the server ends the connection, and after how long. `nil` when it does not.
    private func end(
        _ server: TestServer, after sent: String
    ) async -> (statuses: [Int], elapsed: Duration)? {
        let port = server.port
        return await onThread {
            let start = ContinuousClock.now
            let client = BlockingClient(port: port)
            client.send(sent)
            guard client.receiveToEnd() else { return nil }
            return (
                WireResponse.parse(client.received, firstIsHead: false).map(\.status), ContinuousClock.now - start
            )
        }
    }

    @Test(
        "a connection without a whole head is closed at the header deadline",
        arguments: ["", "G", "GET / HTTP/1.1\r\nHost: a\r\n", "\r\n"])
    func header(sent: String) async throws {
        try await TestServer.run(configure: { $0.headerDeadline = Self.short }) { server in
            let end = try #require(await end(server, after: sent))
            #expect(end.statuses.isEmpty)
            #expect(end.elapsed >= Self.short)
        }
    }

    @Test("a second head has the header deadline too, and rest has its own")
    func idle() async throws {
        let configure: (inout HTTPServerConfiguration) -> Void = {
            $0.headerDeadline = Self.short
            $0.idleDeadline = .seconds(1)
        }
        try await TestServer.run(configure: configure) { server in
            let partial = try #require(await end(server, after: Self.get + "GET /"))
            #expect(partial.statuses == [200])
            #expect(partial.elapsed < .seconds(1))
            let atRest = try #require(await end(server, after: Self.get))
            #expect(atRest.statuses == [200])
            #expect(atRest.elapsed >= .seconds(1))
        }
    }

    @Test("content that does not come is waited for until the body deadline")
    func content() async throws {
        try await TestServer.run(configure: { $0.bodyDeadline = Self.short }) { server in
            let sent = "POST /echo HTTP/1.1\r\nHost: a.example\r\nContent-Length: 5\r\n\r\nhell"
            let end = try #require(await end(server, after: sent))
            #expect(end.statuses.isEmpty)
            #expect(end.elapsed >= Self.short)
        }
    }

    @Test("no deadline of the connection strikes while the application works")
    func slowApplication() async throws {
        let application = ClosureApplication { _ in
            await EventLoop.current?.sleep(for: .milliseconds(600))
            return text("late")
        }
        let configure: (inout HTTPServerConfiguration) -> Void = {
            $0.headerDeadline = Self.short
            $0.bodyDeadline = Self.short
            $0.idleDeadline = Self.short
            $0.writeDeadline = Self.short
        }
        try await TestServer.run(application, configure: configure) { server in
            let end = try #require(await end(server, after: "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"))
            #expect(end.statuses == [200])
        }
    }

    @Test("a peer that does not read is given up at the write deadline, and others are served meanwhile")
    func writing() async throws {
        let answered = Locked(0)
        let application = ClosureApplication { _ in
            answered.withLock { $0 += 1 }
            return HTTPResponse(status: .ok, body: .bytes([UInt8](repeating: 0, count: 60_000)))
        }
        try await TestServer.run(application, configure: { $0.writeDeadline = Self.short }) { server in
            let port = server.port
            let isGivenUp = await onThread {
                let deaf = BlockingClient(port: port, receiveBufferBytes: 4_096)
                let requests = latin1(String(repeating: Self.get, count: 1_000))
                deaf.send(requests)
                let other = BlockingClient(port: port)
                other.send(Self.get)
                let isOtherServed = other.receive(1)?.first?.status == 200
                // The server stops reading when it cannot write, and ends the connection: sending fails by then.
                while deaf.send(requests) {}
                return isOtherServed && deaf.receiveToEnd()
            }
            #expect(isGivenUp)
            #expect(answered.withLock { $0 } < 1_000)
        }
    }

    @Test("a connection over the limit is told so, and there is room again when one ends")
    func connectionLimit() async throws {
        try await TestServer.run(configure: { $0.connectionsMax = 1 }) { server in
            let port = server.port
            let statuses = await onThread {
                var statuses: [Int?] = []
                do {
                    let first = BlockingClient(port: port)
                    first.send(Self.get)
                    statuses.append(first.receive(1)?.first?.status)
                    let second = BlockingClient(port: port)
                    statuses.append(second.receive(1)?.first?.status)
                    first.finishWriting()
                    first.receiveToEnd()
                }
                let third = BlockingClient(port: port)
                third.send(Self.get)
                statuses.append(third.receive(1)?.first?.status)
                return statuses
            }
            #expect(statuses == [200, 503, 200])
        }
    }
}
