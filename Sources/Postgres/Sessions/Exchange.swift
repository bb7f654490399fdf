/// The calls of one batch on an exclusive session, and the task that waits for its end. Bound to one loop.
final class Exchange {
    private let calls: [Call]
    private var isFinished = false
    private var waiter: UnsafeContinuation<Void, Never>?

    init(_ calls: [Call]) {
        self.calls = calls
    }

    /// The end of the batch went wrong: what looked done is not.
    func fail(_ outcome: Call.Outcome) {
        for call in calls {
            switch call.outcome {
            case .rows, nil: call.outcome = outcome
            case .failed, .aborted, .lost, .unsent: break
            }
        }
    }

    func finish() {
        isFinished = true
        let parked = waiter
        waiter = nil
        parked?.resume()
    }

    func wait() async {
        if isFinished { return }
        await withUnsafeContinuation { waiter = $0 }
    }
}

/// A text of several statements on its way. Bound to one loop.
final class Script {
    let deadline: ContinuousClock.Instant
    private var outcome: Call.Outcome?
    private var isFinished = false
    private var waiter: UnsafeContinuation<Void, Never>?

    init(deadline: ContinuousClock.Instant) {
        self.deadline = deadline
    }

    /// The first failure stays; otherwise the last result.
    func record(_ outcome: Call.Outcome) {
        if case .failed = self.outcome { return }
        self.outcome = outcome
    }

    func finish(_ outcome: Call.Outcome?) {
        if let outcome { record(outcome) }
        isFinished = true
        let parked = waiter
        waiter = nil
        parked?.resume()
    }

    /// An empty script has no result and counts as not sent.
    func wait() async -> Call.Outcome {
        if !isFinished { await withUnsafeContinuation { waiter = $0 } }
        return outcome ?? .unsent
    }
}
