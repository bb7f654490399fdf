import AuthStore
import HTTPServer
import Postgres
import Primitives
import Reactor
import Telemetry

/// What `/metrics` shows of the process beside the API's own counters: connections, event loops, databases, signatures.
///
/// Whatever belongs to a loop is read there, once in `Limits.loopSampling`, and shown as it was then.
final class ProcessMetrics: Sendable {
    private static let connections = Metrics.Name(
        "sallyport_http_connections", help: "Open connections of clients, those at rest included.")
    private static let loopLag = Metrics.Name(
        "sallyport_loop_lag_seconds", help: "How late an event loop comes to a timer.")
    private static let databaseConnections = Metrics.Name(
        "sallyport_database_connections", help: "Connections to the databases, by what they do.")
    private static let databaseWaiting = Metrics.Name(
        "sallyport_database_waiting", help: "Statements that have no connection yet.")
    private static let mints = Metrics.Name(
        "sallyport_mint_duration_seconds", help: "Time to sign the tokens of one answer, the wait for a turn included.")

    private static let clockDifference = Metrics.Name(
        "sallyport_clock_difference_seconds",
        help: "By how much the clock in use, which follows the database's, is ahead of this machine's.")

    let metrics = Metrics()
    let mints: Metrics.Histogram
    private let loops: Loops
    private let server: HTTPServer
    private let clock: FollowedClock
    private let loads = Locked<[Int: [(database: String, load: DatabaseLoad)]]>([:])

    init(loops: Loops, server: HTTPServer, clock: FollowedClock) {
        self.loops = loops
        self.server = server
        self.clock = clock
        mints = metrics.histogram(Self.mints)
    }

    /// Samples each loop until it stops.
    func begin() {
        let lag = metrics.histogram(Self.loopLag)
        for (index, pair) in loops.pairs.enumerated() {
            let loop = pair.main.loop
            loop.spawn { [self] in
                while true {
                    let due = ContinuousClock.now + Limits.loopSampling
                    await loop.sleep(for: Limits.loopSampling)
                    lag.observe(max(.zero, due.duration(to: .now)))
                    var loads = [(database: "main", load: pair.main.load)]
                    if pair.identity !== pair.main { loads.append(("identity", pair.identity.load)) }
                    self.loads.withLock { $0[index] = loads }
                }
            }
        }
    }

    func gauges() -> [Metrics.Gauge] {
        var gauges = [Metrics.Gauge(Self.connections, [], Double(server.openConnections))]
        var waiting: [Metrics.Gauge] = []
        let all = loads.withLock { $0 }.values.joined()
        for database in ["main", "identity"] {
            let loads = all.filter { $0.database == database }.map(\.load)
            let idle = loads.reduce(0) { $0 + $1.idle }
            let counts = [
                ("read", loads.reduce(0) { $0 + $1.readers }),
                ("busy", loads.reduce(0) { $0 + $1.exclusive } - idle),
                ("idle", idle),
            ]
            for (use, count) in counts {
                gauges.append(
                    Metrics.Gauge(
                        Self.databaseConnections, [("database", database), ("use", use)], Double(count)))
            }
            waiting.append(
                Metrics.Gauge(
                    Self.databaseWaiting, [("database", database)], Double(loads.reduce(0) { $0 + $1.waiting })))
        }
        let difference = Double(clock.difference.wholeMicroseconds) / 1e6
        return gauges + waiting + [Metrics.Gauge(Self.clockDifference, [], difference)]
    }
}
