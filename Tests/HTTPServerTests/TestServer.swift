import HTTP
import HTTPServer
import Primitives
import Reactor
import Testing

/// A server on loops of its own on a free port of loopback, taken down when the body ends.
struct TestServer: Sendable {
    let port: UInt16
    let server: HTTPServer
    let loops: [EventLoop]

    /// - Parameter body: runs off the loops. Blocking steps belong on `onThread`.
    static func run(
        _ application: any HTTPApplication = EchoApplication(), loopCount: Int = 1,
        configure: (inout HTTPServerConfiguration) -> Void = { _ in },
        _ body: (TestServer) async throws -> Void
    ) async throws {
        var configuration = HTTPServerConfiguration(
            address: try #require(SocketAddress("127.0.0.1:0")), clock: FixedClock())
        configure(&configuration)
        let loops = try (0..<loopCount).map { try EventLoop(name: "test-\($0)") }
        for loop in loops { loop.start() }
        defer {
            for loop in loops {
                loop.stop()
                loop.join()
            }
        }
        let server = HTTPServer(loops: loops, application: application, configuration: configuration)
        let address = try await server.start()
        try await body(TestServer(port: address.port, server: server, loops: loops))
        await server.drain(within: .seconds(1))
    }

    /// Connects and runs a blocking body on a thread.
    func client<Result: Sendable>(_ body: @escaping @Sendable (BlockingClient) -> Result) async -> Result {
        let port = port
        return await onThread { body(BlockingClient(port: port)) }
    }
}

struct FixedClock: WallClock {
    func now() -> Timestamp { Timestamp(secondsSinceEpoch: 1_800_000_000) }
}

struct ClosureApplication: HTTPApplication {
    let body: @Sendable (HTTPRequest) async -> HTTPResponse

    init(_ body: @escaping @Sendable (HTTPRequest) async -> HTTPResponse) {
        self.body = body
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse { await body(request) }

    func refuse(_ refusal: HTTPRefusal) -> HTTPResponse {
        HTTPResponse(status: refusal.status, body: .bytes(Array("refused".utf8)))
    }
}

func text(_ string: String) -> HTTPResponse {
    HTTPResponse(status: .ok, fields: ["Content-Type": "text/plain"], body: .bytes(Array(string.utf8)))
}
