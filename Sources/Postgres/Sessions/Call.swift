import CLibPQ
import Telemetry

/// One statement on its way. Bound to one loop.
final class Call {
    enum Text {
        case prepared(Statement, Parameters)
        /// Run once: not prepared under its name.
        case unnamed(Statement, Parameters)
        /// Without parameters and not prepared: BEGIN, COMMIT, SET.
        case plain(StaticString)
    }

    enum Outcome {
        case rows(ResultHandle)
        case failed(SQLState, subject: String)
        /// Not run, because a statement before it in the same batch failed.
        case aborted
        /// The connection went while the statement was on its way; for a write that says nothing about its effect.
        case lost(Unavailability)
        /// The connection was gone before the statement could be handed to it.
        case unsent
    }

    let text: Text
    let deadline: ContinuousClock.Instant
    var outcome: Outcome?
    /// The statement could not be prepared; it is then aborted, and this is why.
    var preparationFailure: (state: SQLState, subject: String)?

    // What has been tried before, for reads.
    var isIsolated = false
    var hasBeenPreparedAgain = false
    var hasBeenReconnected = false

    /// The final result of a read, and who waits for it.
    private(set) var result: Result<ResultHandle, DatabaseError>?
    private var waiter: UnsafeContinuation<Void, Never>?

    init(_ text: Text, deadline: ContinuousClock.Instant) {
        self.text = text
        self.deadline = deadline
    }

    var name: String {
        switch text {
        case .prepared(let statement, _), .unnamed(let statement, _): statement.name
        case .plain(let text): text.description
        }
    }

    func finish(_ result: Result<ResultHandle, DatabaseError>) {
        guard self.result == nil else { return }
        self.result = result
        let parked = waiter
        waiter = nil
        parked?.resume()
    }

    /// - Precondition: awaited once at a time.
    func wait() async -> Result<ResultHandle, DatabaseError> {
        while true {
            if let result { return result }
            precondition(waiter == nil, "two tasks await one statement")
            await withUnsafeContinuation { waiter = $0 }
        }
    }
}
