import AuthDomain
import AuthStore
import Postgres
import Primitives
import Reactor
import Telemetry

/// Reads the database's clock again and again, and notes what time this server uses. Contract section 3.1.
struct ClockFollowing: Sendable {
    let clock: FollowedClock
    /// Of one loop; used there.
    let database: Database
    let logger: Logger

    /// The first reading. Where none is exact, the most exact one is better than none.
    func start() async throws(DatabaseError) {
        var best: (row: ClockRow, start: Duration, end: Duration)?
        for _ in 0..<Limits.clockTries {
            let found = try await read()
            if found.end - found.start < best.map({ $0.end - $0.start }) ?? .seconds(3_600) { best = found }
            if found.end - found.start < Limits.clockRoundTripMax { break }
        }
        guard let best else { return }
        if best.end - best.start >= Limits.clockRoundTripMax {
            logger.warning(
                "the database's clock is read inexactly: the way to the database is long",
                [LogField("clock.round_trip.us", (best.end - best.start).wholeMicroseconds)])
        }
        clock.take(best.row, between: best.start, and: best.end)
        await note(best.row.confirmations)
        if let difference = clock.doubtedDifference { report(.doubted(difference)) }
    }

    /// Also the fallback of notifications, which may be lost.
    func begin(on loop: EventLoop) {
        loop.spawn {
            var left = Limits.clockPoll
            while true {
                await loop.sleep(for: Limits.clockDoubtPoll)
                left -= Limits.clockDoubtPoll
                guard clock.isInDoubt || left <= .zero else { continue }
                left = Limits.clockPoll
                await look()
            }
        }
    }

    /// On the database's loop.
    func look() async {
        do throws(DatabaseError) {
            for _ in 0..<Limits.clockTries {
                let found = try await read()
                guard found.end - found.start < Limits.clockRoundTripMax else {
                    await database.loop.sleep(for: Limits.clockTryPause)
                    continue
                }
                guard let change = clock.take(found.row, between: found.start, and: found.end) else { return }
                report(change)
                await note(found.row.confirmations, after: change)
                return
            }
            logger.debug("the database's clock could not be read exactly")
        } catch {
            logger.debug("the database's clock could not be read", [LogField("reason", error.description)])
        }
    }

    private func read() async throws(DatabaseError) -> (row: ClockRow, start: Duration, end: Duration) {
        let start = elapsedTime()
        let row = try await ClockRow.read(from: database)
        return (row, start, elapsedTime())
    }

    /// The other servers are told of a step: until they have made it too, what this one issues is from the future there.
    private func note(_ confirmations: Int64, after change: SharedClock.Change = .followed) async {
        guard !clock.isInDoubt else { return }
        do throws(DatabaseError) {
            try await ClockTable.note(
                clock.unmoved, confirmations: confirmations, isSettled: change == .settled, in: database)
            if case .stepped = change { try await ClockTable.announce(in: database) }
        } catch {
            logger.debug("the time could not be noted", [LogField("reason", error.description)])
        }
    }

    private func report(_ change: SharedClock.Change) {
        switch change {
        case .followed, .stillDoubted: return
        case .stepped(let step):
            logger.info(
                "the clock goes forward with the database's", [LogField("clock.step.us", step.wholeMicroseconds)])
        case .doubted(let difference):
            logger.error(
                "the database's clock is not followed: repair it, or say by `sallyport clock confirm` that it is right",
                [LogField("clock.difference_s", difference.wholeSeconds)])
        case .settled: logger.info("the database's clock is followed again")
        }
    }
}
