import Synchronization

/// Takes one in so many, counted over all loops.
final class LogSampling: Sendable {
    private let every: UInt64
    private let seen = Atomic<UInt64>(0)

    /// - Precondition: at least 1.
    init(every: Int) {
        precondition(every > 0, "a sample of nothing")
        self.every = UInt64(every)
    }

    func takesNext() -> Bool {
        every == 1 || seen.wrappingAdd(1, ordering: .relaxed).oldValue % every == 0
    }
}
