package import Primitives

/// A wall clock that stands still until a test moves it.
package final class TestClock: WallClock {
    private let instant: Locked<Timestamp>
    private let doubt = Locked(false)

    /// - Parameter start: by default a whole second, 2026-10-04T01:33:20Z.
    package init(_ start: Timestamp = Timestamp(secondsSinceEpoch: 1_791_077_600)) {
        instant = Locked(start)
    }

    package func now() -> Timestamp { instant.withLock { $0 } }

    package var isInDoubt: Bool { doubt.withLock { $0 } }

    package func setDoubt(_ isInDoubt: Bool) { doubt.withLock { $0 = isInDoubt } }

    package func set(_ now: Timestamp) { instant.withLock { $0 = now } }

    /// A negative duration sets the clock back.
    package func advance(by duration: Duration) { instant.withLock { $0 = $0 + duration } }
}
