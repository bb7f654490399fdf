import HTTP
import Primitives
import Reactor
import Testing

@testable import HTTPServer

@Suite("Connections of one address, and the reserve")
struct ConnectionCountTests {
    private static let get = "GET /static HTTP/1.1\r\nHost: a.example\r\n\r\n"
    private static let health = "GET /livez HTTP/1.1\r\nHost: a.example\r\n\r\n"

    @Test(
        "connections are counted by IPv4 address and by IPv6 /64, and those of trusted proxies by nobody",
        arguments: [
            ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
            ("192.0.2.1", "::ffff:192.0.2.1", true), ("2001:db8::1", "2001:db8::ffff:1", true),
            ("2001:db8::1", "2001:db8:0:1::1", false), ("10.0.0.1", "10.0.0.1", false),
        ])
    func clients(first: String, second: String, isSame: Bool) throws {
        var configuration = HTTPServerConfiguration(
            address: try #require(SocketAddress("127.0.0.1:0")), clock: FixedClock())
        configuration.trustedProxies = TrustedProxies([try #require(CIDR("10.0.0.0/8"))])
        let count = ConnectionCount(limit: 10, clientLimit: 1)
        let clients = try [first, second].map { configuration.client(of: try #require(IPAddress($0))) }
        #expect(count.enter(clients[0]) == .admitted)
        #expect(count.enter(clients[1]) == (isSame ? .clientFull : .admitted))
    }

    @Test("what has left has room again, and a client that has gone leaves nothing behind")
    func leaving() throws {
        let one = try #require(IPAddress("192.0.2.1"))
        let other = try #require(IPAddress("192.0.2.2"))
        let count = ConnectionCount(limit: 3, clientLimit: 2)
        #expect([one, one, one].map { count.enter($0) } == [.admitted, .admitted, .clientFull])
        #expect([other, other].map { count.enter($0) } == [.admitted, .full])
        count.leave(one)
        #expect(count.enter(one) == .admitted)
        for client in [one, one, other] { count.leave(client) }
        #expect(count.open == 0 && count.clients == 0)
    }

    @Test(
        "the reserve is 64 connections, and a quarter of a few", arguments: [(12_288, 64), (100, 25), (1, 0), (0, 0)])
    func reserve(connections: Int, expected: Int) throws {
        let configuration = HTTPServerConfiguration(
            address: try #require(SocketAddress("127.0.0.1:0")), connectionsMax: connections, clock: FixedClock())
        #expect(configuration.connectionsReserved == expected)
    }

    @Test(
        "while all connections are taken, and more come that send nothing, health is served and nothing else is",
        arguments: [true, false])
    func flood(byAddress: Bool) async throws {
        let configure: (inout HTTPServerConfiguration) -> Void = {
            $0.connectionsMax = byAddress ? 400 : 8
            $0.connectionsPerAddress = byAddress ? 6 : nil
        }
        let application = ClosureApplication { text($0.target.path) }
        try await TestServer.run(application, configure: configure) { server in
            let port = server.port
            let (kept, statuses, refusedEnds) = await onThread { () -> (Int?, [Int?], Bool) in
                let first = BlockingClient(port: port)
                first.send(Self.get)
                first.receive(1)
                // Five more take all that there is; the others go for the reserve and are silent.
                let silent = (0..<200).map { _ in BlockingClient(port: port) }
                func status(_ request: String) -> (Int?, Bool) {
                    let client = BlockingClient(port: port)
                    client.send(request)
                    let status = client.receive(1)?.first?.status
                    return (status, client.receiveToEnd())
                }
                let answers = [Self.health, Self.get, Self.health].map { status($0) }
                first.send(Self.get)
                let kept = first.receive(2)?.last?.status
                return withExtendedLifetime(silent) { (kept, answers.map(\.0), answers.allSatisfy(\.1)) }
            }
            #expect(kept == 200)
            #expect(statuses == [200, 503, 200])
            #expect(refusedEnds)
        }
    }
}
