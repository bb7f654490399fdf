import AuthDomain
import AuthStore
import Postgres
import Primitives

/// The clock that a process uses: the database's once it was read, this machine's before. Shared by all loops.
///
/// On a test target it is moved by the offset of the row.
final class FollowedClock: WallClock {
    private struct State {
        var shared: SharedClock?
        var virtualOffset = Duration.zero
        /// The monotonic time of the read or write that the offset is of: an older read never replaces it.
        var offsetAt = Duration.zero
    }

    private let machine: any WallClock
    private let state = Locked(State())

    init(machine: any WallClock = SystemClock()) {
        self.machine = machine
    }

    func now() -> Timestamp {
        let at = elapsedTime()
        return state.withLock { ($0.shared?.now(at: at) ?? machine.now()) + $0.virtualOffset }
    }

    /// Without the offset of a test target.
    var unmoved: Timestamp {
        let at = elapsedTime()
        return state.withLock { $0.shared?.now(at: at) } ?? machine.now()
    }

    var isInDoubt: Bool { state.withLock { $0.shared?.isInDoubt ?? false } }

    /// What the database's clock says less what was expected, while that is not followed.
    var doubtedDifference: Duration? { state.withLock { $0.shared?.doubtedDifference } }

    /// By how much the clock that is followed is ahead of this machine's.
    var difference: Duration { unmoved - machine.now() }

    /// - Parameters:
    ///   - start: the monotonic time before the row was asked for.
    ///   - end: that after it came.
    /// - Returns: `nil` for the first row.
    @discardableResult
    func take(_ row: ClockRow, between start: Duration, and end: Duration) -> SharedClock.Change? {
        let middle = start + (end - start) / 2
        let reading = ClockReading(
            time: row.time, at: middle, machine: machine.now() - (elapsedTime() - middle), highest: row.highest,
            confirmations: row.confirmations)
        return state.withLock { state in
            if start >= state.offsetAt { (state.virtualOffset, state.offsetAt) = (row.virtualOffset, start) }
            guard state.shared != nil else {
                state.shared = SharedClock(reading)
                return nil
            }
            return state.shared?.take(reading)
        }
    }

    // MARK: A test target's

    func set(to instant: Timestamp, in database: Database) async throws(DatabaseError) {
        move(by: try await ClockTable.setVirtualOffset(instant - unmoved, in: database))
    }

    func advance(by duration: Duration, in database: Database) async throws(DatabaseError) {
        move(by: try await ClockTable.advance(by: duration, in: database))
    }

    func reset(in database: Database) async throws(DatabaseError) {
        move(by: try await ClockTable.setVirtualOffset(.zero, in: database))
    }

    private func move(by offset: Duration) {
        let at = elapsedTime()
        state.withLock { ($0.virtualOffset, $0.offsetAt) = (offset, at) }
    }
}

/// What an operator should know of it.
extension FollowedClock {
    var fault: String? {
        guard let difference = doubtedDifference else { return nil }
        return "the database's clock is \(Self.shown(difference)) the time that the servers have, and is not followed: "
            + "repair it, or `sallyport clock confirm`"
    }

    var warning: String? {
        let difference = difference
        guard difference > Limits.clockDifferenceMax || difference < .zero - Limits.clockDifferenceMax else {
            return nil
        }
        return "the database's clock, which is followed, is \(Self.shown(difference)) this machine's"
    }

    /// Seconds, rounded to the nearest.
    private static func shown(_ difference: Duration) -> String {
        difference < .zero
            ? "\((.milliseconds(500) - difference).wholeSeconds) s behind"
            : "\((.milliseconds(500) + difference).wholeSeconds) s ahead of"
    }
}

extension FollowedClock {
    /// The clock of a database, for a command: read once.
    static func read(from database: Database) async throws(DatabaseError) -> FollowedClock {
        let clock = FollowedClock()
        let start = elapsedTime()
        clock.take(try await ClockRow.read(from: database), between: start, and: elapsedTime())
        return clock
    }
}
