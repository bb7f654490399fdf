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

/// Time since some instant of the past, that is never set back.
func monotonicTime() -> Duration { reading(of: CLOCK_MONOTONIC) }

/// As `monotonicTime()`, but it goes on while the machine sleeps.
func elapsedTime() -> Duration { reading(of: CLOCK_BOOTTIME) }

private func reading(of clock: clockid_t) -> Duration {
    var time = timespec()
    clock_gettime(clock, &time)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
}
