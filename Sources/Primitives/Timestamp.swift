/// An instant of the wall clock: microseconds since 1970-01-01T00:00:00Z, as exact as Postgres keeps it.
///
/// Arithmetic saturates: a number from a row, a token or a request may be anything, and the furthest instants stand for
/// "never" and "for ever".
package struct Timestamp: Hashable, Comparable, Sendable {
    package let microsecondsSinceEpoch: Int64

    package init(microsecondsSinceEpoch: Int64) {
        self.microsecondsSinceEpoch = microsecondsSinceEpoch
    }

    package init(secondsSinceEpoch: Int64) {
        self.init(microsecondsSinceEpoch: secondsSinceEpoch.multiplied(saturatingBy: 1_000_000))
    }

    /// Whole seconds, rounded down: what a JWT's NumericDate holds (RFC 7519 §2).
    package var secondsSinceEpoch: Int64 { microsecondsSinceEpoch.floored(by: 1_000_000).quotient }

    /// The same instant without its fraction of a second.
    package var wholeSeconds: Timestamp { Timestamp(secondsSinceEpoch: secondsSinceEpoch) }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microsecondsSinceEpoch < right.microsecondsSinceEpoch
    }

    package static func + (left: Timestamp, right: Duration) -> Timestamp {
        Timestamp(microsecondsSinceEpoch: left.microsecondsSinceEpoch.added(saturating: right.wholeMicroseconds))
    }

    package static func - (left: Timestamp, right: Duration) -> Timestamp {
        Timestamp(microsecondsSinceEpoch: left.microsecondsSinceEpoch.subtracted(saturating: right.wholeMicroseconds))
    }

    package static func - (left: Timestamp, right: Timestamp) -> Duration {
        .microseconds(left.microsecondsSinceEpoch.subtracted(saturating: right.microsecondsSinceEpoch))
    }
}

extension Timestamp {
    /// `2026-11-30T12:34:56.789Z`, in milliseconds. Source: RFC 3339 §5.6.
    package var rfc3339: String {
        let (days, second) = secondsSinceEpoch.floored(by: 86_400)
        let date = CivilDate(daysSinceEpoch: days)
        let millisecond = microsecondsSinceEpoch.floored(by: 1_000_000).remainder / 1_000
        return "\(date.year.padded(4))-\(Int64(date.month).padded(2))-\(Int64(date.day).padded(2))"
            + "T\((second / 3_600).padded(2)):\((second / 60 % 60).padded(2)):\((second % 60).padded(2))"
            + ".\(millisecond.padded(3))Z"
    }

    /// `Mon, 30 Nov 2026 12:34:56 GMT`. Source: RFC 9110 §5.6.7, IMF-fixdate.
    package var httpDate: String {
        let (days, second) = secondsSinceEpoch.floored(by: 86_400)
        let date = CivilDate(daysSinceEpoch: days)
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int((days % 7 + 7) % 7)]
        let month = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][date.month - 1]
        return "\(weekday), \(Int64(date.day).padded(2)) \(month) \(date.year.padded(4))"
            + " \((second / 3_600).padded(2)):\((second / 60 % 60).padded(2)):\((second % 60).padded(2)) GMT"
    }
}

/// A day of the proleptic Gregorian calendar.
private struct CivilDate {
    let year: Int64
    let month: Int
    let day: Int

    /// Counts in eras of 400 years from 1 March, so that the leap day is a year's last.
    init(daysSinceEpoch: Int64) {
        let shifted = daysSinceEpoch + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
        month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }
}

extension Int64 {
    fileprivate func added(saturating other: Int64) -> Int64 {
        let (sum, hasOverflown) = addingReportingOverflow(other)
        return hasOverflown ? (other < 0 ? .min : .max) : sum
    }

    fileprivate func subtracted(saturating other: Int64) -> Int64 {
        let (difference, hasOverflown) = subtractingReportingOverflow(other)
        return hasOverflown ? (other < 0 ? .max : .min) : difference
    }

    fileprivate func multiplied(saturatingBy factor: Int64) -> Int64 {
        let (product, hasOverflown) = multipliedReportingOverflow(by: factor)
        return hasOverflown ? ((self < 0) == (factor < 0) ? .max : .min) : product
    }

    /// Rounded down, so that the remainder is never negative.
    fileprivate func floored(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }

    fileprivate func padded(_ width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }
}

extension Duration {
    /// Rounded towards zero; saturates.
    package var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = clamped(to: .microseconds(Int64.min)...(.microseconds(Int64.max))).components
        return seconds * 1_000_000 + attoseconds / 1_000_000_000_000
    }

    package var wholeMilliseconds: Int64 { wholeMicroseconds / 1_000 }

    /// Saturates.
    package var wholeSeconds: Int64 { clamped(to: .seconds(Int64.min)...(.seconds(Int64.max))).components.seconds }

    /// `components` of more seconds than an `Int64` holds would trap.
    private func clamped(to range: ClosedRange<Duration>) -> Duration {
        min(max(self, range.lowerBound), range.upperBound)
    }

    package static func minutes(_ count: Int64) -> Duration { .seconds(count.multiplied(saturatingBy: 60)) }
    package static func hours(_ count: Int64) -> Duration { .seconds(count.multiplied(saturatingBy: 3_600)) }
    package static func days(_ count: Int64) -> Duration { .seconds(count.multiplied(saturatingBy: 86_400)) }
}
