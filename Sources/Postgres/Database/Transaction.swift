import Telemetry

/// The inside of `Database.transaction`. Bound to the database's loop; not to be kept beyond the body.
package final class Transaction {
    private let session: Session
    private unowned let database: Database
    private var hasBegun = false
    private var rollsBack = false

    init(on session: Session, of database: Database) {
        self.session = session
        self.database = database
    }

    /// Runs a statement. After an error Postgres refuses every further one: let the error leave the body.
    package func run(_ statement: Statement, _ values: [SQLValue] = []) async throws(DatabaseError) -> Rows {
        let deadline = database.deadline
        let call = Call(.prepared(statement, Parameters(values, for: statement)), deadline: deadline)
        // BEGIN travels with the first statement.
        let begin: [Call] = hasBegun ? [] : [Call(.plain("BEGIN"), deadline: deadline)]
        hasBegun = true
        await session.exchange(begin + [call])
        return Rows(result: try result(of: call), statement: call.name, logger: database.logger)
    }

    /// The body ends without an error, and yet nothing of it stays.
    package func rollBackAtEnd() {
        rollsBack = true
    }

    /// Commits.
    func end() async throws(DatabaseError) {
        if rollsBack { return await rollBack() }
        guard hasBegun else { return }
        let commit = Call(.plain("COMMIT"), deadline: database.deadline)
        await session.exchange([commit])
        if case .lost = commit.outcome {
            database.logger.throttled(.warning, "a connection was lost with a commit on its way")
            throw .unavailable(.outcomeUnknown)
        }
        // A transaction that had failed before is rolled back, and COMMIT says so without an error.
        guard try result(of: commit).commandTag == "COMMIT" else { throw .unavailable(.dependency) }
    }

    func rollBack() async {
        guard hasBegun, session.isOpen else { return }
        // If it fails, the session is not reusable and `checkIn` drops it: the server rolls back by itself.
        await session.exchange([Call(.plain("ROLLBACK"), deadline: database.deadline)])
    }

    private func result(of call: Call) throws(DatabaseError) -> ResultHandle {
        switch call.outcome {
        case .rows(let result): return result
        case .failed(let state, let subject):
            // Run again from the start, the transaction would prepare the statement anew.
            let error: DatabaseError =
                state.decision == .prepareAgain ? .unavailable(.contention) : state.error(subject: subject)
            database.report(call.name, state, error, on: session)
            throw error
        case .lost(let reason): throw .unavailable(reason)
        case .aborted, .unsent, nil: throw .unavailable(.dependency)
        }
    }
}
