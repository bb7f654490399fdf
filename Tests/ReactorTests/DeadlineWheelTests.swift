import Testing

@testable import Reactor

@Suite("The wheel of deadlines")
struct DeadlineWheelTests {
    private static let tick = Limits.deadlineTickNanoseconds

    private func instant(_ nanoseconds: UInt64) -> MonotonicInstant { MonotonicInstant(nanoseconds: nanoseconds) }

    @Test("a look comes at the first tick that is not before its instant")
    func rounding() {
        let now = MonotonicInstant.now().nanoseconds / Self.tick * Self.tick
        var wheel = DeadlineWheel()
        let due = wheel.add(7, at: instant(now + 5 * Self.tick + 1))
        #expect(due == now / Self.tick + 6)
        #expect(wheel.takeDue(at: instant(now + 6 * Self.tick - 1)).isEmpty)
        #expect(wheel.takeDue(at: instant(now + 6 * Self.tick)).map(\.token) == [7])
        #expect(wheel.isEmpty)
    }

    @Test("one that is further off than the wheel is wide comes with its last tick, and none is lost")
    func farOff() {
        var wheel = DeadlineWheel()
        let now = MonotonicInstant.now().nanoseconds
        let ticks = (1...500).map { wheel.add($0, at: instant(now + $0 * Self.tick)) }
        #expect(ticks.allSatisfy { $0 <= now / Self.tick + UInt64(Limits.deadlineTicks) + 1 })
        let taken = wheel.takeDue(at: instant(now + 600 * Self.tick)).map(\.token)
        #expect(taken.sorted() == Array(1...500))
        #expect(wheel.isEmpty)
    }

    @Test("an instant that has passed comes with the next tick")
    func past() {
        var wheel = DeadlineWheel()
        let now = MonotonicInstant.now().nanoseconds
        _ = wheel.add(1, at: instant(0))
        #expect(wheel.takeDue(at: instant(now + Self.tick)).map(\.token) == [1])
    }

    @Test("after a pause with nothing to look at it goes on from the present")
    func pause() {
        var wheel = DeadlineWheel()
        _ = wheel.add(1, at: instant(0))
        _ = wheel.takeDue(at: instant(MonotonicInstant.now().nanoseconds + Self.tick))
        let later = MonotonicInstant.now().nanoseconds + 3 * Self.tick
        let due = wheel.add(2, at: instant(later))
        #expect(due == (later + Self.tick - 1) / Self.tick)
    }
}
