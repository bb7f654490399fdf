import Primitives

/// The connections of all loops against the process's limit.
final class ConnectionCount: Sendable {
    private let count = Locked(0)
    private let limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// - Returns: whether there was room; each success needs its `leave`.
    func enter() -> Bool {
        count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
    }

    var open: Int { count.withLock { $0 } }

    func leave() {
        count.withLock { $0 -= 1 }
    }
}
