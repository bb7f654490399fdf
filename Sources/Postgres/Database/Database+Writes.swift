import Reactor
import Telemetry

extension Database {
    /// Runs one statement by itself and commits it.
    ///
    /// - Throws: `.unavailable(.outcomeUnknown)` when the connection was lost after the statement had been sent; with
    ///   any other error nothing has changed.
    package func write(_ statement: Statement, _ values: [SQLValue] = []) async throws(DatabaseError) -> Rows {
        assertOnLoop()
        let parameters = Parameters(values, for: statement)
        let deadline = deadline
        var attemptsLeft = 2
        while true {
            attemptsLeft -= 1
            let session = try await checkOut()
            let call = Call(.prepared(statement, parameters), deadline: deadline)
            await session.exchange([call])
            checkIn(session)
            switch call.outcome {
            case .rows(let result):
                return Rows(result: result, statement: statement.name, logger: logger)
            case .failed(let state, let subject):
                // The statement has been rolled back, so it may be sent again.
                if attemptsLeft > 0, state.decision == .prepareAgain || state.decision == .readOnlyHost { continue }
                let error = state.error(subject: subject)
                report(statement.name, state, error, on: session)
                throw error
            case .unsent, .aborted:
                if attemptsLeft > 0 { continue }
                throw .unavailable(.dependency)
            case .lost, nil:
                logger.throttled(
                    .warning, "a connection was lost with a write on its way", of: statement.name,
                    [LogField("db.statement", statement.name)])
                throw .unavailable(.outcomeUnknown)
            }
        }
    }

    /// Runs `body` in a transaction and commits it, unless `body` throws or has called `rollBackAtEnd`.
    ///
    /// - Throws: what `body` throws; `.unavailable(.outcomeUnknown)` when the connection was lost after COMMIT had been
    ///   sent; with any other error nothing has changed.
    package func transaction<Value>(
        _ body: (Transaction) async throws(DatabaseError) -> Value
    ) async throws(DatabaseError) -> Value {
        assertOnLoop()
        let session = try await checkOut()
        let transaction = Transaction(on: session, of: self)
        let value: Value
        do {
            value = try await body(transaction)
        } catch {
            await transaction.rollBack()
            checkIn(session)
            throw error
        }
        do {
            try await transaction.end()
        } catch {
            checkIn(session)
            throw error
        }
        checkIn(session)
        return value
    }

    /// Runs `body` again while it fails with `.unavailable(.contention)`, three times in all.
    package func retryingContention<Value>(
        _ body: () async throws(DatabaseError) -> Value
    ) async throws(DatabaseError) -> Value {
        assertOnLoop()
        for _ in 1..<Limits.contentionAttemptsMax {
            do {
                return try await body()
            } catch .unavailable(.contention) {
                await loop.sleep(for: Limits.contentionPauseMin + Limits.contentionPauseSpread * jitter.next())
            } catch {
                throw error
            }
        }
        return try await body()
    }
}
