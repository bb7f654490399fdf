import Reactor

/// A request that waits for an exclusive connection. Bound to one loop.
final class PoolWaiter {
    private var result: Result<Session, DatabaseError>?
    private var parked: UnsafeContinuation<Void, Never>?
    private var timer: LoopTimer?

    /// Gives up after `limit`, for the reason that holds then.
    func expire(after limit: Duration, on loop: EventLoop, _ reason: @escaping () -> Unavailability) {
        timer = loop.schedule(after: limit) { [weak self] in self?.finish(.failure(.unavailable(reason()))) }
    }

    func finish(_ result: Result<Session, DatabaseError>) {
        guard self.result == nil else { return }
        self.result = result
        timer?.cancel()
        timer = nil
        let parked = parked
        self.parked = nil
        parked?.resume()
    }

    func wait() async -> Result<Session, DatabaseError> {
        while true {
            if let result { return result }
            await withUnsafeContinuation { parked = $0 }
        }
    }
}
