import Primitives

/// The connections of all loops against the limit of the process and that of each client.
final class ConnectionCount: Sendable {
    enum Verdict: Equatable {
        case admitted
        /// The process has as many as it takes.
        case full
        /// The client has as many as one client may have.
        case clientFull
    }

    private struct State {
        var open = 0
        var byClient: [IPAddress: Int] = [:]
    }

    private let state = Locked(State())
    private let limit: Int
    private let clientLimit: Int

    init(limit: Int, clientLimit: Int? = nil) {
        self.limit = limit
        self.clientLimit = clientLimit ?? .max
    }

    /// Each `.admitted` needs its `leave`.
    ///
    /// - Parameter client: `nil` for one without a limit of its own.
    func enter(_ client: IPAddress?) -> Verdict {
        state.withLock { state in
            guard state.open < limit else { return .full }
            if let client {
                let count = state.byClient[client, default: 0]
                guard count < clientLimit else { return .clientFull }
                state.byClient[client] = count + 1
            }
            state.open += 1
            return .admitted
        }
    }

    func leave(_ client: IPAddress?) {
        state.withLock { state in
            state.open -= 1
            guard let client, let count = state.byClient[client] else { return }
            // Clients that are gone leave nothing behind: there are more addresses than memory.
            state.byClient[client] = count > 1 ? count - 1 : nil
        }
    }

    var open: Int { state.withLock { $0.open } }
    /// Clients that hold a connection.
    var clients: Int { state.withLock { $0.byClient.count } }
}
