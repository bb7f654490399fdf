import Foundation
import Primitives

/// What all clients of a run share: where the servers are, the clock, and the history that is written.
package final class Surroundings: Sendable {
    /// In front of the servers.
    let relays: [CutRelay]
    private let origin = ContinuousClock.now
    private let recorded = Locked(History())
    private let isEnding = Locked(false)

    init(relays: [CutRelay]) { self.relays = relays }

    /// Seconds since the run began.
    var now: Double { origin.duration(to: .now) / .seconds(1) }

    var hasEnded: Bool { isEnding.withLock { $0 } }

    func end() { isEnding.withLock { $0 = true } }

    /// Sleeps, unless the run ends before.
    func rest(_ seconds: Double) {
        let end = now + seconds
        while now < end, !hasEnded { usleep(20_000) }
    }

    func record(_ operation: Operation) { recorded.withLock { $0.operations.append(operation) } }

    func record(_ fault: FaultWindow) { recorded.withLock { $0.faults.append(fault) } }

    func record(_ rows: [SessionRow]) { recorded.withLock { $0.rows += rows } }

    package var history: History { recorded.withLock { $0 } }

    /// How many operations since `start` are as described.
    func count(since start: Double, where isCounted: (Operation) -> Bool) -> Int {
        recorded.withLock { $0.operations.reduce(0) { $0 + ($1.end >= start && isCounted($1) ? 1 : 0) } }
    }
}
