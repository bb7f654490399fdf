import Glibc

/// A reading of the monotonic clock in nanoseconds; what all time-outs are counted in.
package struct MonotonicInstant: Comparable, Sendable {
    package let nanoseconds: UInt64

    package static func now() -> MonotonicInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return MonotonicInstant(nanoseconds: UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec))
    }

    package static func < (left: MonotonicInstant, right: MonotonicInstant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    package static func + (left: MonotonicInstant, right: Duration) -> MonotonicInstant {
        let parts = min(max(right, .zero), .nanoseconds(Int64.max)).components
        let added = UInt64(parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000)
        return MonotonicInstant(nanoseconds: left.nanoseconds + added)
    }

    /// Milliseconds from `now` until this instant, rounded up so that a timer is never early; 0 when it has passed.
    func millisecondsLeft(at now: MonotonicInstant) -> Int32 {
        guard nanoseconds > now.nanoseconds else { return 0 }
        return Int32(clamping: (nanoseconds - now.nanoseconds + 999_999) / 1_000_000)
    }
}
