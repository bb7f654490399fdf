extension Database {
    /// What is wrong where the URL leads to a pooler that gives each transaction, or each statement, another backend.
    ///
    /// Prepared statements, settings and LISTEN belong to a backend, and a server behind such a pooler would fail some
    /// requests for ever. One connection reads its backend's id before and while another one has a transaction open: it
    /// must stay the same. `nil`: the backends stay.
    package func poolerFault() async throws(DatabaseError) -> DatabaseFault? {
        assertOnLoop()
        do throws(DatabaseFault) {
            let holder = try await open(for: self)
            defer { holder.close() }
            let reader = try await open(for: self)
            defer { reader.close() }
            return try await judge(reader, holder)
        } catch {
            connectionFault = error
            throw .unavailable(error.reason)
        }
    }

    private func judge(_ reader: Session, _ holder: Session) async throws(DatabaseFault) -> DatabaseFault? {
        let before = try await backend(of: reader)
        let begin = Call(.plain("BEGIN"), deadline: deadline)
        await holder.exchange([begin])
        guard case .rows = begin.outcome else {
            // PostgreSQL itself knows no reason to refuse it.
            if holder.refusal?.state.code == "08P01" { return Self.poolerFault(kind: "statement") }
            throw DatabaseFault(.dependency, "a transaction could not be opened")
        }
        // Poolers choose by chance or in turn, too.
        for _ in 0..<Limits.poolerReads where try await backend(of: reader) != before {
            return Self.poolerFault(kind: "transaction")
        }
        return nil
    }

    private func backend(of session: Session) async throws(DatabaseFault) -> Int64 {
        let call = Call(.plain("SELECT pg_catalog.pg_backend_pid()::bigint AS pid"), deadline: deadline)
        await session.exchange([call])
        do throws(DatabaseError) {
            if case .rows(let result) = call.outcome {
                return try Rows(result: result, statement: call.name, logger: logger)[0].int64("pid")
            }
        } catch {
            throw DatabaseFault(.dependency, "the id of a backend cannot be read")
        }
        throw DatabaseFault(
            .busy, "a connection does not answer while another one has a transaction open",
            advice: "look at the load of the server; a pooler must have more than one connection to it")
    }

    private static func poolerFault(kind: String) -> DatabaseFault {
        DatabaseFault(
            .misconfigured, "the address leads to a pooler in \(kind) mode (PgBouncer and the like)",
            advice: "give the direct address of the PostgreSQL server, or of a pooler in session mode")
    }
}
