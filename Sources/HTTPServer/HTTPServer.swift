package import HTTP
import Primitives
package import Reactor
package import Telemetry

/// Serves one application on all loops: each has its own listener, and a connection stays on the loop that took it.
///
/// The loops are the caller's; they have to run before `start` and until `drain` has returned.
package final class HTTPServer: Sendable {
    private let loops: [EventLoop]
    private let application: any HTTPApplication
    private let configuration: HTTPServerConfiguration
    private let logger: Logger
    private let count: ConnectionCount
    private let parts = Locked<[LoopBound<LoopServer>]>([])

    /// - Precondition: at least one loop.
    package init(
        loops: [EventLoop], application: any HTTPApplication, configuration: HTTPServerConfiguration,
        logger: Logger = .disabled
    ) {
        precondition(!loops.isEmpty, "a server needs a loop")
        self.loops = loops
        self.application = application
        self.configuration = configuration
        self.logger = logger
        count = ConnectionCount(
            limit: configuration.connectionsMax - configuration.connectionsReserved,
            clientLimit: configuration.connectionsPerAddress)
    }

    /// Connections that are open now, those at rest included and those of the reserve excepted.
    package var openConnections: Int { count.open }

    /// Begins to accept; once only.
    ///
    /// - Returns: the address with its real port.
    /// - Throws: `.addressInUse` when another process listens there, also one that would share the port.
    package func start() async throws(ReactorError) -> SocketAddress {
        try Listener.probe(configuration.address)
        let first = try Listener(configuration.address, on: loops[0])
        var listeners = [first]
        for loop in loops.dropFirst() {
            listeners.append(try Listener(configuration.address.withPort(first.address.port), on: loop))
        }
        let reserve = configuration.connectionsReserved
        for (index, (loop, listener)) in zip(loops, listeners).enumerated() {
            let part = LoopBound(
                LoopServer(
                    loop: loop, listener: listener, application: application, configuration: configuration,
                    share: configuration.waitingBytesMax / loops.count,
                    reserve: reserve / loops.count + (index < reserve % loops.count ? 1 : 0),
                    count: count, logger: logger),
                on: loop)
            parts.withLock { $0.append(part) }
            loop.spawn { await part.value.acceptUntilClosed() }
        }
        return first.address
    }

    /// Answers say `Connection: close` from now on; new connections are still served. Before a drain, so that balancers
    /// look elsewhere first.
    package func closeAfterAnswers() async {
        for part in parts.withLock({ $0 }) { await part.loop.run { part.value.closesAfterAnswers = true } }
    }

    /// Stops accepting, lets requests in flight finish with `Connection: close`, then closes what is left.
    ///
    /// Connections that the kernel had queued are served, those at rest are closed. Returns when none is left or
    /// `limit` is over.
    package func drain(within limit: Duration) async {
        let parts = parts.withLock { $0 }
        await withTaskGroup(of: Void.self) { group in
            for part in parts {
                group.addTask { await part.loop.run { await part.value.drain(within: limit) } }
            }
        }
    }
}
