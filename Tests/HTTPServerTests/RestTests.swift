import HTTPServer
import Reactor
import Testing

/// Connections that gave their task back, and bytes that wait.
@Suite("Rest, and what waits")
struct RestTests {
    private static let get = "GET /static HTTP/1.1\r\nHost: a.example\r\n\r\n"
    /// Until a connection rests, which is told on the reactor's tick of 200 ms.
    private static let rests: UInt32 = 700

    @Test("a connection that has rested is served again, as often as it likes")
    func woken() async throws {
        try await TestServer.run(configure: { $0.timeToRest = .zero }) { server in
            let statuses = await server.client { client in
                for count in 1...3 {
                    client.send(Self.get)
                    client.receive(count)
                    _ = BlockingClient.pause(milliseconds: Self.rests)
                }
                return WireResponse.parse(client.received, firstIsHead: false).map(\.status)
            }
            #expect(statuses == [200, 200, 200])
        }
    }

    @Test("the idle deadline ends a connection at rest")
    func deadline() async throws {
        let configure: (inout HTTPServerConfiguration) -> Void = {
            $0.timeToRest = .zero
            $0.idleDeadline = .milliseconds(1_500)
        }
        try await TestServer.run(configure: configure) { server in
            let (elapsed, hasEnded) = await server.client { client in
                client.send(Self.get)
                client.receive(1)
                let start = ContinuousClock.now
                return (client.receiveToEnd() ? ContinuousClock.now - start : .zero, client.hasEnded)
            }
            #expect(hasEnded)
            // The server began to count before the client had its answer.
            #expect(elapsed >= .seconds(1))
        }
    }

    @Test("a client that leaves while its connection rests makes room for another")
    func leaving() async throws {
        let configure: (inout HTTPServerConfiguration) -> Void = {
            $0.timeToRest = .zero
            $0.connectionsMax = 1
        }
        try await TestServer.run(configure: configure) { server in
            await server.client { client in
                client.send(Self.get)
                client.receive(1)
                _ = BlockingClient.pause(milliseconds: Self.rests)
            }
            let status = await onThread { () -> Int? in
                for _ in 0..<50 {
                    let client = BlockingClient(port: server.port)
                    client.send(Self.get)
                    if let status = client.receive(1)?.first?.status, status == 200 { return status }
                    _ = BlockingClient.pause(milliseconds: 100)
                }
                return nil
            }
            #expect(status == 200)
        }
    }

    @Test("a drain ends connections at rest at once")
    func drain() async throws {
        try await TestServer.run(configure: { $0.timeToRest = .zero }) { server in
            let client = await onThread { () -> Bool in
                let client = BlockingClient(port: server.port)
                client.send(Self.get)
                client.receive(1)
                _ = BlockingClient.pause(milliseconds: Self.rests)
                server.loops[0].spawn { await server.server.drain(within: .seconds(30)) }
                return client.receiveToEnd()
            }
            #expect(client)
        }
    }

    @Test("contents that wait share their bytes: the one too many is told to come back, and small requests are served")
    func waitingBytes() async throws {
        let content = String(repeating: "a", count: 60_000)
        let unfinished = "POST /echo HTTP/1.1\r\nHost: a.example\r\nContent-Length: 60001\r\n\r\n" + content
        try await TestServer.run(configure: { $0.waitingBytesMax = 500_000 }) { server in
            let (refused, finished, small) = await onThread { () -> (Int, [Int?], Int?) in
                let clients = (0..<20).map { _ in BlockingClient(port: server.port) }
                for client in clients { client.send(unfinished) }
                _ = BlockingClient.pause(milliseconds: 500)
                let honest = BlockingClient(port: server.port)
                honest.send(Self.get)
                let small = honest.receive(1)?.first?.status
                for client in clients { client.limitReceiving(milliseconds: 1) }
                let refused = clients.filter { client in
                    client.receiveSome()
                    return WireResponse.parse(client.received, firstIsHead: false).first?.status == 503
                }
                let others = clients.filter { client in !refused.contains { $0 === client } }
                for client in others { client.limitReceiving(milliseconds: 600_000) }
                for client in others { client.send("a") }
                return (refused.count, others.map { $0.receive(1)?.first?.status }, small)
            }
            #expect(small == 200)
            #expect(refused > 0)
            #expect(!finished.isEmpty)
            #expect(finished.allSatisfy { $0 == 200 })
        }
    }
}
