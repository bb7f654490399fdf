import AuthDomain
import AuthTesting
import Primitives
import Testing

@Suite("The clock of a database, as a process follows it")
struct SharedClockTests {
    private static let start = Timestamp(secondsSinceEpoch: 1_791_077_600)

    /// A database and this machine, both by how much they are ahead of the true time.
    private struct World {
        var elapsed = Duration.zero
        var database = Duration.zero
        var machine = Duration.zero
        var highest: Timestamp?
        var confirmations: Int64 = 0

        var truth: Timestamp { SharedClockTests.start + elapsed }

        var reading: ClockReading {
            ClockReading(
                time: truth + database, at: elapsed, machine: truth + machine, highest: highest,
                confirmations: confirmations)
        }

        /// By how much a clock is ahead of the true time.
        func error(of clock: SharedClock) -> Duration { clock.now(at: elapsed) - truth }
    }

    @Test("monotonic time carries it between readings")
    func carried() {
        var world = World(database: .minutes(15))
        let clock = SharedClock(world.reading)
        for _ in 0..<100 {
            world.elapsed += .seconds(7)
            #expect(world.error(of: clock) == .minutes(15))
        }
        #expect(!clock.isInDoubt)
    }

    private static let starts: [(highest: Duration?, database: Duration, machine: Duration, now: Duration, Bool)] = [
        (nil, .zero, .zero, .zero, false),
        (nil, .days(40), .zero, .days(40), false),
        // The row is behind: no server has run for a while.
        (.seconds(-30), .zero, .zero, .zero, false),
        (.seconds(-30), .zero, .minutes(-15), .zero, false),
        (.days(-300), .zero, .seconds(60), .zero, false),
        // The host is wrong, and the machine is not.
        (.seconds(-30), .days(40), .zero, .zero, true),
        (.seconds(-30), .days(40), .days(-1), .seconds(-30), true),
        (.days(-3), .days(-1), .zero, .days(-1), true),
        (.minutes(-61), .zero, .seconds(61), .zero, true),
        (.minutes(-60), .zero, .seconds(61), .zero, false),
        // The row is ahead.
        (.seconds(60), .zero, .zero, .seconds(60), false),
        (.seconds(61), .zero, .zero, .seconds(61), true),
        (.zero, .days(-40), .zero, .zero, true),
        (.seconds(-30), .days(-40), .zero, .zero, true),
        (.minutes(-61), .days(-40), .zero, .minutes(-61), true),
        (.days(40), .zero, .zero, .days(40), true),
    ]

    @Test("it starts from the later of the row and the database, and doubts what nothing explains", arguments: starts)
    func starting(
        highest: Duration?, database: Duration, machine: Duration, now: Duration, isInDoubt: Bool
    ) {
        let world = World(database: database, machine: machine, highest: highest.map { Self.start + $0 })
        let clock = SharedClock(world.reading)
        #expect(world.error(of: clock) == now)
        #expect(clock.isInDoubt == isInDoubt)
    }

    private static let differences: [(Duration, SharedClock.Change)] = [
        (.milliseconds(50), .followed), (.seconds(1), .followed),
        (.milliseconds(1_001), .stepped(.milliseconds(1_001))),
        (.seconds(60), .stepped(.seconds(60))), (.seconds(-60), .followed),
        (.milliseconds(60_001), .doubted(.milliseconds(60_001))),
        (.milliseconds(-60_001), .doubted(.milliseconds(-60_001))), (.days(40), .doubted(.days(40))),
        (.days(-40), .doubted(.days(-40))), (.days(36_500_000), .doubted(.days(36_500_000))),
    ]

    @Test("a difference of 60 s is followed, a larger one is not", arguments: differences)
    func difference(_ difference: Duration, _ change: SharedClock.Change) {
        var world = World()
        var clock = SharedClock(world.reading)
        world.elapsed += .seconds(30)
        world.database = difference
        #expect(clock.take(world.reading) == change)
        let isTaken = change != .doubted(difference)
        #expect(clock.isInDoubt == !isTaken)
        #expect(clock.doubtedDifference == (isTaken ? nil : difference))
        // Forward at once; backward not yet.
        #expect(world.error(of: clock) == (isTaken ? max(.zero, difference) : .zero))
    }

    @Test("backward the time goes on at half speed until the database has caught up")
    func slewed() {
        var world = World()
        var clock = SharedClock(world.reading)
        world.database = .seconds(-60)
        #expect(clock.take(world.reading) == .followed)
        for second in 0...150 {
            #expect(world.error(of: clock) == .milliseconds(-500 * Int64(min(second, 120))))
            world.elapsed += .seconds(1)
            if second % 30 == 0 { #expect(clock.take(world.reading) == .followed) }
        }
    }

    @Test("a doubted reading is taken once the machine's clock and two further readings agree", arguments: [40, -40])
    func agreed(days: Int64) {
        var world = World()
        var clock = SharedClock(world.reading)
        world.elapsed += .seconds(30)
        (world.database, world.machine) = (.days(days), .days(days) + .seconds(59))
        #expect(clock.take(world.reading) == .doubted(.days(days)))
        world.elapsed += .seconds(5)
        #expect(clock.take(world.reading) == .stillDoubted)
        #expect(world.error(of: clock) == .zero)
        world.elapsed += .seconds(5)
        #expect(clock.take(world.reading) == .settled)
        #expect(!clock.isInDoubt && world.error(of: clock) == .days(days))
    }

    @Test("readings that disagree with each other, or with the machine, settle nothing")
    func disagreeing() {
        var world = World()
        var clock = SharedClock(world.reading)
        for index in 1...20 {
            world.elapsed += .seconds(5)
            world.database = .days(Int64(index))
            world.machine = world.database
            #expect(clock.take(world.reading) == .doubted(world.database))
        }
        world.machine = world.database + .seconds(61)
        for _ in 0..<20 {
            world.elapsed += .seconds(5)
            #expect(clock.take(world.reading) == .stillDoubted)
        }
        #expect(world.error(of: clock) == .zero)
    }

    @Test("a reading where it was expected ends the doubt")
    func over() {
        var world = World()
        var clock = SharedClock(world.reading)
        world.database = .days(40)
        #expect(clock.take(world.reading) == .doubted(.days(40)))
        world.database = .seconds(2)
        #expect(clock.take(world.reading) == .settled)
        #expect(!clock.isInDoubt && world.error(of: clock) == .seconds(2))
    }

    @Test(
        "an operator's word settles it at once, once, and also where the doubt had not begun", arguments: [true, false])
    func confirmed(hasBegun: Bool) {
        var world = World()
        var clock = SharedClock(world.reading)
        world.database = .days(40)
        if hasBegun { #expect(clock.take(world.reading) == .doubted(.days(40))) }
        world.confirmations += 1
        #expect(clock.take(world.reading) == .settled)
        #expect(!clock.isInDoubt && world.error(of: clock) == .days(40))
        world.database = .days(80)
        #expect(clock.take(world.reading) == .doubted(.days(40)))
    }

    @Test("whatever the readings say, the time never goes back but by agreement, and is never far from the database's")
    func simulation() {
        for seed in 1...200 {
            let random = SeededRandom(seed: UInt64(seed))
            func draw(_ range: ClosedRange<Int64>) -> Int64 {
                range.lowerBound + Int64(random.next() % UInt64(range.upperBound - range.lowerBound + 1))
            }
            var world = World(database: .seconds(draw(-900...900)), machine: .seconds(draw(-900...900)))
            var clock = SharedClock(world.reading)
            var last = clock.now(at: world.elapsed)
            for _ in 0..<300 {
                world.elapsed += .milliseconds(draw(0...30_000))
                switch draw(0...19) {
                case 0: world.database += .seconds(draw(-60...60))
                case 1: world.database = .seconds(draw(-100_000...100_000))
                case 2: world.machine = world.database
                case 3: world.confirmations += 1
                default: break
                }
                let before = clock
                let change = clock.take(world.reading)
                let now = clock.now(at: world.elapsed)
                let isBack = now < last
                let wasInDoubt = before.isInDoubt || world.confirmations > 0
                #expect(!isBack || change == .settled && wasInDoubt, "seed \(seed)")
                if !clock.isInDoubt {
                    let ahead = now - (world.truth + world.database)
                    #expect(ahead >= .zero, "seed \(seed)")
                }
                if case .doubted = change { #expect(now == before.now(at: world.elapsed), "seed \(seed)") }
                last = now
            }
        }
    }
}
