import Primitives

/// When to try again to connect. A value: time and chance come from outside.
struct Backoff {
    typealias Instant = ContinuousClock.Instant

    /// In a row.
    private(set) var failures = 0
    private(set) var reason: Unavailability?
    private(set) var nextAttempt: Instant?

    var isFailing: Bool { failures > 0 }

    mutating func succeeded() {
        self = Backoff()
    }

    /// Doubles the pause from the first to the longest one.
    ///
    /// - Parameter jitter: 0..<1; the pause is between half and all of its nominal length, so that servers that lost
    ///   one database do not return to it together.
    mutating func failed(_ reason: Unavailability, at now: Instant, jitter: Double) {
        failures += 1
        self.reason = reason
        let doublings = min(failures - 1, 10)
        let nominal = min(Limits.reconnectPauseFirst * (1 << doublings), Limits.reconnectPauseMax)
        nextAttempt = now + nominal * (0.5 + jitter / 2)
    }
}

/// Spaces the attempts of all loops of the process at databases that have just refused one.
final class ConnectionThrottle: Sendable {
    static let shared = ConnectionThrottle()

    private let nextFree = Locked<ContinuousClock.Instant?>(nil)

    /// Takes the next free moment from `instant` on.
    func reserve(from instant: ContinuousClock.Instant) -> ContinuousClock.Instant {
        nextFree.withLock { nextFree in
            let slot = max(instant, nextFree ?? instant)
            nextFree = slot + .seconds(1) / Limits.reconnectAttemptsPerSecond
            return slot
        }
    }
}
