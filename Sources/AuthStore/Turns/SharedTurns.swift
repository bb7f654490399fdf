package import AuthDomain
import Primitives
package import Reactor

/// The turns of all event loops of a process, behind one lock: a user's connections are spread over the loops.
///
/// Several servers count for themselves. The lock is held for a look into the queue; a request that waits holds nothing.
package final class SharedTurns: WriteTurns {
    private enum Outcome {
        case granted, crowded, late
    }

    private let queue: Locked<TurnQueue<UnsafeContinuation<Outcome, Never>>>
    private let lanes: [ObjectIdentifier: Int]

    /// - Parameter places: write connections of each loop.
    package init(loops: [EventLoop], places: Int) {
        queue = Locked(TurnQueue(lanes: loops.count, places: places))
        lanes = Dictionary(
            loops.enumerated().map { (ObjectIdentifier($0.element), $0.offset) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    package func begin(_ owner: WriteOwner) async throws(AuthFailure) {
        let (loop, lane) = current
        var timer: LoopTimer?
        let outcome: Outcome = await withUnsafeContinuation { continuation in
            switch queue.withLock({ $0.enter(owner, lane: lane, continuation) }) {
            case .granted: continuation.resume(returning: .granted)
            case .crowded: continuation.resume(returning: .crowded)
            case .waiting(let number):
                timer = loop.schedule(after: Limits.writeTurnWait) { [queue] in
                    queue.withLock { $0.giveUp(number, of: owner, lane: lane) }?.resume(returning: .late)
                }
            }
        }
        timer?.cancel()
        switch outcome {
        case .granted: return
        case .crowded: throw .limited(wait: Limits.writeTurnWait)
        case .late: throw .unavailable(.busy)
        }
    }

    package func end(_ owner: WriteOwner) {
        let lane = current.lane
        for waiter in queue.withLock({ $0.leave(owner, lane: lane) }) { waiter.resume(returning: .granted) }
    }

    /// - Precondition: called on one of the loops.
    private var current: (loop: EventLoop, lane: Int) {
        guard let loop = EventLoop.current, let lane = lanes[ObjectIdentifier(loop)] else {
            preconditionFailure("a turn is taken on an event loop that has write connections")
        }
        return (loop, lane)
    }
}
