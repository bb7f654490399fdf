/// When to look at which socket's deadline: a ring of ticks, so that a tick costs what is due in it and no more.
///
/// Deadlines move with every request; a look does not. It finds out whether the deadline has come and is asked for anew
/// where it has not, which happens once in some seconds for each connection instead of with each request.
struct DeadlineWheel {
    /// Ticks of `Limits.deadlineTickNanoseconds` on the monotonic clock.
    typealias Tick = UInt64

    private var slots = [[UInt64]](repeating: [], count: Limits.deadlineTicks)
    /// All ticks up to this one were taken.
    private var taken: Tick = 0
    private var count = 0

    var isEmpty: Bool { count == 0 }

    /// The first tick that is not before `instant`.
    static func tick(of instant: MonotonicInstant) -> Tick {
        (instant.nanoseconds + Limits.deadlineTickNanoseconds - 1) / Limits.deadlineTickNanoseconds
    }

    static func nextTick(after now: MonotonicInstant) -> MonotonicInstant {
        let length = Limits.deadlineTickNanoseconds
        return MonotonicInstant(nanoseconds: (now.nanoseconds / length + 1) * length)
    }

    /// - Returns: when it will be taken: the tick of `instant`, or the wheel's last one where that is further off.
    mutating func add(_ token: UInt64, at instant: MonotonicInstant) -> Tick {
        // Nobody looked at an empty wheel while time went on.
        if isEmpty { taken = Self.tick(of: .now()) - 1 }
        let tick = min(max(Self.tick(of: instant), taken + 1), taken + Tick(slots.count))
        slots[slot(of: tick)].append(token)
        count += 1
        return tick
    }

    /// Removes and returns what is due by `now`.
    mutating func takeDue(at now: MonotonicInstant) -> [(token: UInt64, tick: Tick)] {
        var due: [(token: UInt64, tick: Tick)] = []
        let last = now.nanoseconds / Limits.deadlineTickNanoseconds
        while taken < last, !isEmpty {
            taken += 1
            let tokens = slots[slot(of: taken)]
            slots[slot(of: taken)] = []
            count -= tokens.count
            for token in tokens { due.append((token, taken)) }
        }
        return due
    }

    private func slot(of tick: Tick) -> Int { Int(tick % Tick(slots.count)) }
}
