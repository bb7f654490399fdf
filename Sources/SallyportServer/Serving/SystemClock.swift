import Glibc
package import Primitives

/// The machine's wall clock.
package struct SystemClock: WallClock {
    package init() {}

    package func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(microsecondsSinceEpoch: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
    }
}

/// A wall clock that a test moves: the machine's, with an offset.
final class VirtualClock: WallClock {
    private let offset = Locked(Duration.zero)

    func now() -> Timestamp { SystemClock().now() + offset.withLock { $0 } }

    func set(to instant: Timestamp) {
        let machine = SystemClock().now()
        offset.withLock { $0 = instant - machine }
    }

    func advance(by duration: Duration) {
        offset.withLock { $0 += duration }
    }

    func reset() {
        offset.withLock { $0 = .zero }
    }
}

/// Time since some instant of the past, that is never set back.
func monotonicTime() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
}
