import Primitives
import Telemetry

/// Whether the watch over the identity store gets through. A look that fails ends nothing: sessions that were signed out
/// there go on refreshing here, so an operator has to hear of it.
final class WatchHealth: Sendable {
    private static let age = Metrics.Name(
        "sallyport_identity_look_age_seconds",
        help: "Time since a look at all linked sessions was last seen to complete.")
    private static let failures = Metrics.Name(
        "sallyport_identity_look_failures_total", help: "Looks at the linked sessions that could not read them.")

    /// Polls that may pass without a complete look. Contract section 3.
    private static let pollsMax = 3

    private struct State {
        var completedAt: Timestamp?
        /// By monotonic time: the wall clock of a test target jumps.
        var learntAt = ContinuousClock.now
    }

    private let poll: Duration
    private let failed: Metrics.Counter
    private let state = Locked(State())

    init(poll: Duration, metrics: Metrics) {
        self.poll = poll
        failed = metrics.counter(Self.failures)
    }

    func note(completedAt: Timestamp?) {
        state.withLock { state in
            guard state.completedAt != completedAt else { return }
            state = State(completedAt: completedAt)
        }
    }

    func noteFailure() { failed.add() }

    var gauge: Metrics.Gauge {
        let age = state.withLock { $0.learntAt }.duration(to: .now)
        return Metrics.Gauge(Self.age, [], Double(age.wholeSeconds))
    }

    /// For `/readyz`; `nil` while looks complete.
    var fault: String? {
        let age = state.withLock { $0.learntAt }.duration(to: .now)
        guard age > poll * Self.pollsMax else { return nil }
        return "the watch over linked sessions has not completed for \(age.wholeSeconds) s: the log says why"
    }
}
