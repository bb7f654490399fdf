import Primitives
package import Reactor
package import Telemetry

/// One database as one event loop sees it: pipelined connections for reads, exclusive ones for writes and transactions.
///
/// Connections are opened with the first use, kept, and opened anew when they are lost, with a pause that grows while
/// the database refuses; nothing has to be restarted when it comes back. Every call ends: with rows, with an error of
/// the statement, or with `.unavailable` when its deadline strikes.
///
/// SAFETY: `@unchecked Sendable` so that values which several loops share can carry it. All state belongs to `loop`;
/// every entry checks that it is called there.
package final class Database: @unchecked Sendable {
    package let loop: EventLoop
    let configuration: DatabaseConfiguration
    let logger: Logger
    let connector: Connector

    var readers: [Session] = []
    var idle: [Session] = []
    /// Idle and lent ones together.
    var exclusiveCount = 0
    var connectingCount = 0
    var waitingReads = Queue<WaitingRead>()
    var waiters = Queue<PoolWaiter>()
    var listenings: [Listening] = []
    var backoff = Backoff()
    /// Why the last attempt to connect failed; `nil` once one has succeeded.
    var connectionFault: DatabaseFault?
    /// What the server last said of a wrong name, right or schema.
    var lastRefusal: StatementRefusal?
    var jitter = Jitter()
    var isClosed = false
    var isFillScheduled = false
    var isExpiryScheduled = false

    /// A read without a connection to go to.
    struct WaitingRead {
        let call: Call
        let givesUpAt: ContinuousClock.Instant
    }

    /// Does not connect yet.
    ///
    /// - Throws: for a URL that cannot be used.
    package init(
        url: DatabaseURL, loop: EventLoop, configuration: DatabaseConfiguration, logger: Logger
    ) throws(DatabaseFault) {
        self.loop = loop
        self.configuration = configuration
        self.logger = logger
        connector = try Connector(url, configuration, on: loop)
    }

    /// Whether a connection for reads may lead to a replica, which can be behind.
    package var mayReadReplica: Bool { configuration.isReadOnly && connector.target.allowsReplica }

    /// What its connections do at this moment.
    package var load: DatabaseLoad {
        assertOnLoop()
        return DatabaseLoad(
            readers: readers.count, exclusive: exclusiveCount, idle: idle.count,
            waiting: waiters.count + waitingReads.count)
    }

    var deadline: ContinuousClock.Instant { .now + configuration.queryDeadline }

    func assertOnLoop() {
        precondition(loop.isCurrent, "a database is used on its own loop only")
    }

    /// Can the database be read, and written unless this is a read-only one? For readiness.
    ///
    /// Asks what `SELECT 1` would not notice: a primary that has become a standby still answers. Then all connections
    /// are given up and a host that takes writes is looked for.
    package func ping() async -> DatabaseError? {
        do throws(DatabaseError) {
            for row in try await read(Self.hostState) where !configuration.isReadOnly {
                let isInRecovery = try row.bool("is_in_recovery")
                let isReadOnly = try row.bool("is_read_only")
                guard isInRecovery || isReadOnly else { continue }
                for session in readers + idle { session.lose(.readOnly) }
                return .unavailable(.readOnly)
            }
            return nil
        } catch {
            return error
        }
    }

    private static let hostState = Statement(
        "host_state",
        """
        SELECT pg_is_in_recovery() AS is_in_recovery, current_setting('transaction_read_only') = 'on' AS is_read_only
        """)

    /// Refuses what comes from now on, lets what is on its way end for at most `Limits.drainTimeout`, and says goodbye.
    package func close() async {
        assertOnLoop()
        isClosed = true
        for listening in listenings { listening.close() }
        listenings = []
        for waiter in waiters.removeAll() { waiter.finish(.failure(.unavailable(.closed))) }
        for read in waitingReads.removeAll() { read.call.finish(.failure(.unavailable(.closed))) }
        let end = ContinuousClock.now + Limits.drainTimeout
        while !isIdle, ContinuousClock.now < end { await loop.sleep(for: Limits.drainPoll) }
        for session in readers + idle { session.close() }
        readers = []
        exclusiveCount -= idle.count
        idle = []
    }

    private var isIdle: Bool {
        exclusiveCount == idle.count && readers.allSatisfy { $0.load == 0 }
    }

    func report(_ call: String, _ state: SQLState, _ error: DatabaseError, on session: Session) {
        note(session.refusal)
        let fields = [LogField("db.statement", call), LogField("db.sqlstate", state.code)]
        switch error {
        case .conflict, .missingReference, .unavailable(.contention):
            logger.debug("a statement was refused", fields)
        case .checkFailed, .functionFailed, .unavailable:
            logger.throttled(.warning, "a statement failed", of: call, fields)
        }
    }
}
