import HTTP
import HTTPServer
import Primitives
import Reactor
import Testing

@Suite("Start and drain")
struct DrainTests {
    private static let get = "GET /static HTTP/1.1\r\nHost: a.example\r\n\r\n"

    /// Answers once the gate is open, and tells when a request has come in.
    private final class Gate: Sendable {
        private let waiters = Locked<[@Sendable () -> Void]>([])
        private let arrivals = Locked(0)

        func pass() async {
            guard let loop = EventLoop.current else { return }
            await withUnsafeContinuation { continuation in
                waiters.withLock { $0.append { loop.post { continuation.resume() } } }
                arrivals.withLock { $0 += 1 }
            }
        }

        func open() {
            for waiter in waiters.withLock({ $0 }) { waiter() }
        }

        /// On a thread: until so many requests wait.
        func waitForArrivals(_ count: Int) {
            while arrivals.withLock({ $0 }) < count { _ = BlockingClient.pause(milliseconds: 2) }
        }
    }

    @Test("an address that somebody listens on is refused, however the port could be shared")
    func addressInUse() async throws {
        try await TestServer.run { server in
            let address = try #require(SocketAddress("127.0.0.1:\(server.port)"))
            let second = HTTPServer(
                loops: server.loops, application: EchoApplication(),
                configuration: HTTPServerConfiguration(address: address, clock: FixedClock()))
            await #expect(throws: ReactorError.addressInUse(address)) { try await second.start() }
        }
    }

    @Test("a drain closes connections at rest at once and takes no new ones")
    func idle() async throws {
        try await TestServer.run(loopCount: 2) { server in
            let port = server.port
            let ready = Locked(false)
            async let hasEnded = onThread {
                let client = BlockingClient(port: port)
                client.send(Self.get)
                client.receive(1)
                ready.withLock { $0 = true }
                return client.receiveToEnd()
            }
            await onThread { while !ready.withLock({ $0 }) { _ = BlockingClient.pause(milliseconds: 2) } }
            let start = ContinuousClock.now
            await server.server.drain(within: .seconds(30))
            #expect(ContinuousClock.now - start < .seconds(15))
            #expect(await hasEnded)
            #expect(await server.client { $0.hasEnded })
        }
    }

    @Test("a request in flight is finished with Connection: close")
    func inFlight() async throws {
        let gate = Gate()
        let application = ClosureApplication { _ in
            await gate.pass()
            return text("done")
        }
        try await TestServer.run(application) { server in
            async let answers = server.client { client in
                client.send(Self.get)
                client.receiveToEnd()
                return WireResponse.parse(client.received, firstIsHead: false)
            }
            await onThread { gate.waitForArrivals(1) }
            async let drained: Void = server.server.drain(within: .seconds(30))
            // Nobody can connect any more once the drain has begun.
            let port = server.port
            await onThread { while !BlockingClient(port: port).hasEnded { _ = BlockingClient.pause(milliseconds: 2) } }
            gate.open()
            await drained
            #expect(await answers.map(\.status) == [200])
            #expect(await answers.first?.field("connection") == "close")
        }
    }

    @Test("a drain ends at its limit whatever the application does")
    func limit() async throws {
        let gate = Gate()
        let application = ClosureApplication { _ in
            await gate.pass()
            return text("too late")
        }
        try await TestServer.run(application) { server in
            async let received = server.client { client in
                client.send(Self.get)
                client.receiveToEnd()
                return client.received
            }
            await onThread { gate.waitForArrivals(1) }
            let start = ContinuousClock.now
            await server.server.drain(within: .milliseconds(200))
            #expect(ContinuousClock.now - start < .seconds(15))
            #expect(await received.isEmpty)
            gate.open()
        }
    }

    @Test("a connection that was accepted and not used yet may still send its first request")
    func fresh() async throws {
        try await TestServer.run { server in
            let port = server.port
            let isConnected = Locked(false)
            async let status = onThread {
                let client = BlockingClient(port: port)
                isConnected.withLock { $0 = true }
                _ = BlockingClient.pause(milliseconds: 200)
                client.send(Self.get)
                return client.receive(1)?.first?.status
            }
            await onThread { while !isConnected.withLock({ $0 }) { _ = BlockingClient.pause(milliseconds: 1) } }
            await server.server.drain(within: .seconds(30))
            #expect(await status == 200)
        }
    }
}
