/// A call to come, on the loop that scheduled it. Bound to that loop.
package final class LoopTimer {
    let instant: MonotonicInstant
    private var action: (() -> Void)?

    init(at instant: MonotonicInstant, _ action: @escaping () -> Void) {
        self.instant = instant
        self.action = action
    }

    /// Idempotent; without effect once the timer has fired.
    package func cancel() {
        action = nil
    }

    var isCancelled: Bool { action == nil }

    func fire() {
        let action = action
        self.action = nil
        action?()
    }
}

/// Timers by instant: a binary heap. Cancelled ones stay until their instant, or until they are at the top.
struct TimerHeap {
    private var heap: [LoopTimer] = []

    var next: MonotonicInstant? { heap.first?.instant }

    mutating func push(_ timer: LoopTimer) {
        heap.append(timer)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].instant < heap[parent].instant else { break }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Removes and returns what is due, in order, for the caller to fire: an action may push timers itself.
    mutating func takeDue(at now: MonotonicInstant) -> [LoopTimer] {
        var due: [LoopTimer] = []
        while let first = heap.first, first.instant <= now || first.isCancelled {
            due.append(pop(first))
        }
        return due
    }

    private mutating func pop(_ first: LoopTimer) -> LoopTimer {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if heap[child].instant < heap[least].instant { least = child }
            }
            if least == parent { return first }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}
