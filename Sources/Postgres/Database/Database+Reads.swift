import Reactor
import Telemetry

extension Database {
    /// Runs a statement that changes nothing, on a connection shared with other reads.
    ///
    /// All reads of one turn of the loop travel together. A read may run more than once: when its connection was lost,
    /// or when another statement of the batch failed.
    ///
    /// - Throws: `.unavailable` when it could not be found out; never an empty result instead.
    package func read(_ statement: Statement, _ values: [SQLValue] = []) async throws(DatabaseError) -> Rows {
        try await beginRead(statement, values).rows()
    }

    /// Sends a read without waiting for its rows.
    package func beginRead(_ statement: Statement, _ values: [SQLValue] = []) -> PendingRows {
        assertOnLoop()
        let call = Call(.prepared(statement, Parameters(values, for: statement)), deadline: deadline)
        dispatch(call)
        return PendingRows(call: call, logger: logger)
    }

    private func dispatch(_ call: Call) {
        if isClosed { return call.finish(.failure(.unavailable(.closed))) }
        guard readers.reduce(waitingReads.count, { $0 + $1.load }) < Limits.pendingReadsMax else {
            return call.finish(.failure(.unavailable(.busy)))
        }
        // A session that fails to take the call removes itself from the list.
        while let reader = readers.min(by: { $0.load < $1.load }) {
            if reader.send(call) { return }
        }
        wait(call)
    }

    private func wait(_ call: Call) {
        waitingReads.append(WaitingRead(call: call, givesUpAt: min(call.deadline, .now + configuration.poolWait)))
        scheduleExpiry()
        scheduleFill()
    }

    /// Called with a new reader.
    func sendWaitingReads(on session: Session) {
        for read in waitingReads.removeAll() where !session.send(read.call) { wait(read.call) }
    }

    private func scheduleExpiry() {
        guard !isExpiryScheduled, let first = waitingReads.first else { return }
        isExpiryScheduled = true
        let rest = ContinuousClock.now.duration(to: first.givesUpAt)
        _ = loop.schedule(after: max(rest, .zero)) { [weak self] in
            guard let self else { return }
            isExpiryScheduled = false
            expireWaitingReads()
        }
    }

    private func expireWaitingReads() {
        let now = ContinuousClock.now
        // A read that was sent before has less time left and may stand behind one with more.
        waitingReads.removeAll { read in
            guard read.givesUpAt <= now else { return false }
            read.call.finish(.failure(.unavailable(backoff.reason ?? .busy)))
            return true
        }
        scheduleExpiry()
    }

    func settleRead(_ call: Call, on session: Session) {
        switch call.outcome {
        case .rows(let result):
            call.finish(.success(result))
        case .failed(let state, let subject):
            if state.decision == .prepareAgain, !call.hasBeenPreparedAgain {
                call.hasBeenPreparedAgain = true
                return resend(call, on: session)
            }
            let error = state.error(subject: subject)
            report(call.name, state, error, on: session)
            call.finish(.failure(error))
            if session.isReadOnlyHost { session.lose(.readOnly) }
        case .aborted:
            guard !call.isIsolated else { return call.finish(.failure(.unavailable(.dependency))) }
            resend(call, on: session)
        case .lost, .unsent, nil:
            call.finish(.failure(.unavailable(.dependency)))
        }
    }

    /// In a batch of its own: another statement's error cannot reach it again, so this happens once.
    private func resend(_ call: Call, on session: Session) {
        call.isIsolated = true
        call.outcome = nil
        if !session.send(call) { dispatch(call) }
    }

    func recoverReads(_ calls: [Call], because reason: Unavailability) {
        for call in calls {
            guard !call.hasBeenReconnected, reason != .busy, call.deadline > .now else {
                call.finish(.failure(.unavailable(reason)))
                continue
            }
            call.hasBeenReconnected = true
            call.outcome = nil
            call.preparationFailure = nil
            // On a new connection only: what ended this one has often ended its neighbours, and they do not know yet.
            wait(call)
        }
    }
}
