import Primitives
import Telemetry

/// An exclusive connection for the length of a migration: it holds the advisory lock and has settings of its own, so
/// that it does not return to the pool.
struct MigrationSession {
    private let session: Session
    private let database: Database

    /// Takes the lock, after other runners if need be.
    init(of database: Database) async throws(MigrationError) {
        do throws(DatabaseError) {
            session = try await database.checkOut()
        } catch {
            throw .unavailable(error)
        }
        self.database = database
        do throws(MigrationError) {
            try await run(script: MigrationSQL.settings, of: "the settings")
            try await run(script: MigrationSQL.takeTurn, of: "the advisory lock")
            try await run(script: MigrationSQL.lockTimeout, of: "the settings")
        } catch {
            end()
            throw error
        }
    }

    /// Closes the connection; the server gives the lock back then.
    func end() {
        session.lose(.closed)
        database.checkIn(session)
    }

    func plan(for migrations: [Migration]) async throws(MigrationError) -> MigrationPlan {
        let result = try await exchange([prepared(MigrationSQL.list, [])], of: "the list of migrations")
        let rows = Rows(result: result, statement: MigrationSQL.list.name, logger: database.logger)
        do throws(DatabaseError) {
            return MigrationPlan(migrations, applied: try rows.appliedMigrations())
        } catch {
            throw .unavailable(error)
        }
    }

    func createTable() async throws(MigrationError) {
        try await run(script: MigrationSQL.createTable, of: "the table of migrations")
    }

    /// The script and its row in one transaction. After an error the connection is of no more use.
    func apply(_ migration: Migration, at now: Timestamp) async throws(MigrationError) {
        _ = try await exchange([plain("BEGIN")], of: migration.name)
        try await run(script: migration.sql, of: migration.name)
        let values: [SQLValue] = [.text(migration.name), .bytes(migration.checksum), .timestamp(now)]
        _ = try await exchange([prepared(MigrationSQL.record, values)], of: migration.name)
        let end = try await exchange([plain("COMMIT")], of: migration.name)
        guard end.commandTag == "COMMIT" else { throw .failed(name: migration.name, sqlState: "25P02") }
    }

    private var deadline: ContinuousClock.Instant { .now + Limits.migrationDeadline }

    private func plain(_ text: StaticString) -> Call { Call(.plain(text), deadline: deadline) }

    private func prepared(_ statement: Statement, _ values: [SQLValue]) -> Call {
        Call(.prepared(statement, Parameters(values, for: statement)), deadline: deadline)
    }

    private func exchange(_ calls: [Call], of name: String) async throws(MigrationError) -> ResultHandle {
        await session.exchange(calls)
        return try result(calls.last?.outcome, of: name)
    }

    private func run(script: String, of name: String) async throws(MigrationError) {
        _ = try result(await session.run(script: script, deadline: deadline), of: name)
    }

    private func result(_ outcome: Call.Outcome?, of name: String) throws(MigrationError) -> ResultHandle {
        switch outcome {
        case .rows(let result): return result
        case .failed(let state, _):
            database.note(session.refusal)
            if case .unavailable(let reason) = state.error(subject: ""), reason != .misconfigured {
                throw .unavailable(.unavailable(reason))
            }
            throw .failed(name: name, sqlState: state.code)
        case .lost: throw .unavailable(.unavailable(.outcomeUnknown))
        case .aborted, .unsent, nil: throw .unavailable(.unavailable(.dependency))
        }
    }
}
