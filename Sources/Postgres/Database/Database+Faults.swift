import Telemetry

extension Database {
    /// A new connection with our settings in force; the pool does not know it yet.
    func open(for owner: any SessionOwner) async throws(DatabaseFault) -> Session {
        do throws(DatabaseFault) {
            let session = try await session(on: try await connector.connect(), for: owner)
            connectionFault = nil
            return session
        } catch {
            if connectionFault != error {
                logger.warning(
                    "no connection to the database",
                    [LogField("db.reason", error.reason.rawValue), LogField("db.cause", error.description)])
            }
            connectionFault = error
            throw error
        }
    }

    private func session(
        on connection: OpaquePointer, for owner: any SessionOwner
    ) async throws(DatabaseFault) -> Session {
        let session: Session
        do throws(DatabaseError) {
            session = try Session(connection, owner: owner, on: loop)
        } catch {
            throw DatabaseFault(.exhausted, "the socket of a new connection cannot be watched")
        }
        let call = SessionSettings(configuration, own: connector.target.settings).call(deadline: deadline)
        await session.exchange([call])
        switch call.outcome {
        case .rows:
            // A server that shuts down greets and says goodbye in one breath.
            if session.checkIsOpen() { return session }
        case .failed(let state, _):
            session.close()
            guard let refusal = session.refusal else { break }
            guard case .unavailable(let reason) = state.error(subject: "") else {
                throw DatabaseFault(.misconfigured, refusal)
            }
            throw DatabaseFault(reason, refusal)
        case .lost(.busy):
            throw DatabaseFault(
                .busy, "a new connection does not answer",
                advice: "look at the load of the server, or of the pooler in front of it")
        case .lost, .aborted, .unsent, nil: break
        }
        if let refusal = session.refusal { throw DatabaseFault(.dependency, refusal) }
        throw DatabaseFault(.dependency, "the server closed a new connection")
    }

    /// Keeps what the server said where a name, a right or a schema is wrong: `explanation` shows it.
    func note(_ refusal: StatementRefusal?) {
        guard let refusal, refusal.state.decision == .unavailable(.misconfigured) else { return }
        lastRefusal = refusal
    }

    /// The error in a sentence for the person who runs the server, with the cause where it is known.
    package func explanation(of error: DatabaseError) -> String {
        guard case .unavailable(let reason) = error else { return error.description }
        let refusal = lastRefusal.map { DatabaseFault(.misconfigured, $0) }
        let fault = [connectionFault, refusal].compactMap { $0 }.first { $0.reason == reason }
        return fault.map { "database unavailable: \($0)" } ?? error.description
    }

    package func explanation(of error: MigrationError) -> String {
        switch error {
        case .unavailable(let error): explanation(of: error)
        case .failed(_, let sqlState):
            if let lastRefusal, lastRefusal.state.code == sqlState {
                "\(error.description): \(DatabaseFault(.misconfigured, lastRefusal))"
            } else {
                error.description
            }
        case .changed, .databaseIsNewer, .outOfOrder, .pending: error.description
        }
    }
}
