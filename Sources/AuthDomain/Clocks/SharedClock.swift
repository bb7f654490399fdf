package import Primitives

/// What the database's clock said, and how it was asked.
package struct ClockReading: Equatable, Sendable {
    package let time: Timestamp
    /// The monotonic time half-way between question and answer.
    package let at: Duration
    /// What the clock of this machine said then.
    package let machine: Timestamp
    /// The latest time that a server of this database has used; `nil` where there was none.
    package let highest: Timestamp?
    /// How often an operator has said that the database's clock is right.
    package let confirmations: Int64

    package init(time: Timestamp, at: Duration, machine: Timestamp, highest: Timestamp?, confirmations: Int64) {
        self.time = time
        self.at = at
        self.machine = machine
        self.highest = highest
        self.confirmations = confirmations
    }
}

/// The clock of a database as one process follows it: readings in, the time out. Contract section 3.1.
///
/// Between two readings monotonic time carries it. A reading that is a little off is followed; one that is far off, as
/// after a failover to a host with a wrong clock, puts the time in doubt and is taken only when other clocks agree.
package struct SharedClock: Sendable {
    package enum Change: Equatable, Sendable {
        case followed
        /// Forward by more than the error of a reading: the other servers should look too.
        case stepped(Duration)
        /// From now on in doubt, by this difference.
        case doubted(Duration)
        case stillDoubted
        /// The doubt is over: the reading is taken, or back where it was expected.
        case settled
    }

    /// The database's time at `origin`.
    private var base: Timestamp
    private var origin: Duration
    /// By how much the time stood ahead of the database's at `origin`; it wears off at half speed.
    private var lead = Duration.zero
    private var confirmations: Int64
    private var doubt: Doubt?

    private struct Doubt {
        /// Of the first reading from what was expected.
        let difference: Duration
        /// Further readings that said the same.
        var agreements = 0
    }

    /// Starts from the later of what servers have used and of what the database says.
    package init(_ first: ClockReading) {
        base = first.time
        origin = first.at
        confirmations = first.confirmations
        guard let highest = first.highest else { return }
        let difference = first.time - highest
        if difference < .zero {
            if difference < .zero - Limits.clockStepMax {
                // The row is up to one reading old; other servers have gone on since.
                let isPlausible = (highest...(highest + Limits.clockRestMax)).contains(first.machine)
                base = isPlausible ? first.machine : highest
                doubt = Doubt(difference: first.time - base)
            } else {
                lead = .zero - difference
            }
        } else if difference > Limits.clockRestMax, !first.isAgreed {
            // No server has been here for long, or this host is wrong: the machine's clock speaks for the latter.
            base = max(highest, min(first.machine, first.time))
            doubt = Doubt(difference: first.time - base)
        }
    }

    package var isInDoubt: Bool { doubt != nil }

    /// What the database says less what was expected, while that is not taken.
    package var doubtedDifference: Duration? { doubt?.difference }

    package func now(at monotonic: Duration) -> Timestamp {
        let elapsed = max(.zero, monotonic - origin)
        return base + elapsed + max(.zero, lead - elapsed / 2)
    }

    package mutating func take(_ reading: ClockReading) -> Change {
        let difference = reading.time - (base + (reading.at - origin))
        if abs(difference) <= Limits.clockStepMax {
            let wasInDoubt = isInDoubt
            let step = follow(reading)
            return wasInDoubt ? .settled : step > Limits.clockError ? .stepped(step) : .followed
        }
        let isConfirmed = reading.confirmations > confirmations
        var isNew = false
        if let known = doubt, abs(known.difference - difference) <= Limits.clockAgreement {
            doubt?.agreements += 1
        } else {
            doubt = Doubt(difference: difference)
            isNew = true
        }
        if isConfirmed || reading.isAgreed && (doubt?.agreements ?? 0) >= Limits.clockAgreementsMin {
            base = reading.time
            origin = reading.at
            lead = .zero
            confirmations = reading.confirmations
            doubt = nil
            return .settled
        }
        return isNew ? .doubted(difference) : .stillDoubted
    }

    /// Forward at once; backward the time goes on at half speed until the database has caught up. Returns the step.
    private mutating func follow(_ reading: ClockReading) -> Duration {
        let before = now(at: reading.at)
        base = reading.time
        origin = reading.at
        lead = max(.zero, before - reading.time)
        confirmations = reading.confirmations
        doubt = nil
        return max(.zero, reading.time - before)
    }
}

extension ClockReading {
    /// Whether the machine's clock says the same.
    fileprivate var isAgreed: Bool { abs(time - machine) <= Limits.clockStepMax }
}

private func abs(_ duration: Duration) -> Duration { duration < .zero ? .zero - duration : duration }
