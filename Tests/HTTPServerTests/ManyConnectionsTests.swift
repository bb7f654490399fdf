import Foundation
import Glibc
import HTTPServer
import Testing

@Suite("Many connections", .serialized)
struct ManyConnectionsTests {
    private static let get = "GET /static HTTP/1.1\r\nHost: a.example\r\n\r\n"

    /// The median time of some honest requests, each over a connection of its own.
    private static func medianLatency(port: UInt16) -> Duration {
        let times = (0..<51).map { _ in
            let start = ContinuousClock.now
            let client = BlockingClient(port: port)
            client.send(get)
            return client.receive(1) == nil ? Duration.seconds(60) : ContinuousClock.now - start
        }
        return times.sorted()[times.count / 2]
    }

    @Test("out of descriptors the server stays calm, and serves again once some are free")
    func exhaustion() async throws {
        let served = await onThread { () -> (ticks: Int, wasShed: Bool, status: Int?)? in
            guard let echo = EchoProcess(descriptorsMax: 64) else { return nil }
            var greedy = (0..<100).map { _ in BlockingClient(port: echo.port) }
            guard let before = echo.cpuTicks, BlockingClient.pause(milliseconds: 1_000), let after = echo.cpuTicks
            else { return nil }
            // Whoever found no room is told by a close instead of hanging.
            for client in greedy { client.limitReceiving(milliseconds: 1) }
            for client in greedy where !client.hasEnded { client.receiveSome() }
            let wasShed = greedy.contains { $0.hasEnded }
            greedy = []
            // The first tries may still stand behind the greedy ones, whose closes the server has yet to see.
            var status: Int?
            for _ in 0..<50 where status == nil {
                let honest = BlockingClient(port: echo.port)
                honest.send(Self.get)
                status = honest.receive(1)?.first?.status
                if status == nil { _ = BlockingClient.pause(milliseconds: 100) }
            }
            return (after - before, wasShed, status)
        }
        guard let outcome = served else {
            Issue.record("http-echo did not start")
            return
        }
        #expect(outcome.wasShed)
        #expect(outcome.status == 200)
        // A fifth of a core for one second: 20 ticks.
        #expect(outcome.ticks <= 20)
    }

    @Test("beside a thousand connections at rest and a thousand slow ones honest clients are served as fast")
    func manyIdle() async throws {
        let isRoomy = raiseDescriptorLimit(to: 6_000)
        try #require(isRoomy, "the limit of descriptors is too low here")
        try await TestServer.run { server in
            let port = server.port
            let (alone, beside, served) = await onThread {
                let alone = Self.medianLatency(port: port)
                let idle = (0..<1_000).map { _ in BlockingClient(port: port) }
                for client in idle { client.send(Self.get) }
                let served = idle.count { $0.receive(1) != nil }
                let slow = (0..<1_000).map { _ in BlockingClient(port: port) }
                for client in slow { client.send("GET / HT") }
                let beside = Self.medianLatency(port: port)
                return withExtendedLifetime((idle, slow)) { (alone, beside, served) }
            }
            #expect(served == 1_000)
            // Three times, and what a busy machine adds.
            #expect(beside <= alone * 3 + .milliseconds(2))
        }
    }

    // A sanitizer keeps memory of its own beside each block.
    @Test(
        "a connection at rest holds no buffer: with all that the process keeps for it, 8.5 KiB are not reached",
        .enabled(if: ProcessInfo.processInfo.environment["SALLYPORT_SANITIZER"] == nil))
    func memoryAtRest() async throws {
        try #require(raiseDescriptorLimit(to: 6_000))
        let bytes = await onThread { () -> Int? in
            guard let echo = EchoProcess(descriptorsMax: 4_096) else { return nil }
            func connect(_ count: Int) -> [BlockingClient] {
                let clients = (0..<count).map { _ in BlockingClient(port: echo.port) }
                for client in clients {
                    client.send(Self.get)
                    client.receive(1)
                    client.forget()
                }
                return clients
            }
            let first = connect(500)
            guard let before = echo.residentBytes else { return nil }
            let second = connect(2_000)
            // Until they rest.
            _ = BlockingClient.pause(milliseconds: 2_000)
            guard let after = echo.residentBytes else { return nil }
            return withExtendedLifetime((first, second)) { (after - before) / 2_000 }
        }
        let each = try #require(bytes)
        #expect(each < 8_704)
    }
}

private func raiseDescriptorLimit(to count: UInt) -> Bool {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    if limit.rlim_cur >= count { return true }
    limit.rlim_cur = min(count, limit.rlim_max)
    return setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 && limit.rlim_cur >= count
}
