/// Where the jobs of a loop come from. Each source has a queue and a share of the turn of its own.
enum JobSource {
    /// Work that began earlier and had to wait: rows of a database, a finished signature, a timer, another thread.
    case continuation
    /// The listener: connections to accept.
    case arrival
    /// Sockets of clients: requests, most of which are answered from memory.
    case event
    /// The quiet turn that a job has waited for.
    case computation
}

/// The jobs that are ready, in their order of arrival for each source.
struct RunQueues {
    private var continuations = Queue<UnownedJob>()
    private var arrivals = Queue<UnownedJob>()
    private var events = Queue<UnownedJob>()
    private var computations = Queue<UnownedJob>()

    var isEmpty: Bool { continuations.isEmpty && arrivals.isEmpty && events.isEmpty && computations.isEmpty }

    mutating func push(_ job: UnownedJob, from source: JobSource) {
        switch source {
        case .continuation: continuations.push(job)
        case .arrival: arrivals.push(job)
        case .event: events.push(job)
        case .computation: computations.push(job)
        }
    }

    mutating func pop(_ source: JobSource) -> UnownedJob? {
        switch source {
        case .continuation: continuations.pop()
        case .arrival: arrivals.pop()
        case .event: events.pop()
        case .computation: computations.pop()
        }
    }
}

/// Steps of a tenth of a millisecond and more, for which a task waits until the loop has the time.
package enum Computation: Sendable {
    case signature
    case handshake
}

/// The tasks that wait for a quiet turn, oldest first for each kind of step.
struct QuietWaiters {
    typealias Continuation = UnsafeContinuation<Void, Never>

    private struct Waiter {
        let since: MonotonicInstant
        let continuation: Continuation
    }

    private var signatures = Queue<Waiter>()
    private var handshakes = Queue<Waiter>()
    private var lastTaken = Computation.handshake

    var isEmpty: Bool { signatures.isEmpty && handshakes.isEmpty }

    mutating func add(_ continuation: Continuation, for computation: Computation, since: MonotonicInstant) {
        let waiter = Waiter(since: since, continuation: continuation)
        switch computation {
        case .signature: signatures.push(waiter)
        case .handshake: handshakes.push(waiter)
        }
    }

    /// Takes signatures and handshakes in turns, so that a storm of one kind holds the other up for one step at most.
    ///
    /// - Parameter limit: leaves those that began to wait later than this.
    mutating func take(since limit: MonotonicInstant) -> Continuation? {
        let order: (Computation, Computation) =
            lastTaken == .signature ? (.handshake, .signature) : (.signature, .handshake)
        return take(order.0, limit) ?? take(order.1, limit)
    }

    private mutating func take(_ computation: Computation, _ limit: MonotonicInstant) -> Continuation? {
        let found =
            switch computation {
            case .signature: Self.take(&signatures, limit)
            case .handshake: Self.take(&handshakes, limit)
            }
        if found != nil { lastTaken = computation }
        return found
    }

    private static func take(_ queue: inout Queue<Waiter>, _ limit: MonotonicInstant) -> Continuation? {
        guard let first = queue.first, first.since <= limit else { return nil }
        return queue.pop()?.continuation
    }
}
