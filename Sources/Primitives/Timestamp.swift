/// An instant of the wall clock: microseconds since 1970-01-01T00:00:00Z, as exact as Postgres keeps it.
package struct Timestamp: Hashable, Comparable, Sendable {
    package let microsecondsSinceEpoch: Int64

    package init(microsecondsSinceEpoch: Int64) {
        self.microsecondsSinceEpoch = microsecondsSinceEpoch
    }

    package init(secondsSinceEpoch: Int64) {
        self.init(microsecondsSinceEpoch: secondsSinceEpoch * 1_000_000)
    }

    /// Whole seconds, rounded down: what a JWT's NumericDate holds (RFC 7519 §2).
    package var secondsSinceEpoch: Int64 {
        microsecondsSinceEpoch >= 0
            ? microsecondsSinceEpoch / 1_000_000 : (microsecondsSinceEpoch - 999_999) / 1_000_000
    }

    /// The same instant without its fraction of a second.
    package var wholeSeconds: Timestamp { Timestamp(secondsSinceEpoch: secondsSinceEpoch) }

    package static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.microsecondsSinceEpoch < right.microsecondsSinceEpoch
    }

    package static func + (left: Timestamp, right: Duration) -> Timestamp {
        Timestamp(microsecondsSinceEpoch: left.microsecondsSinceEpoch + right.wholeMicroseconds)
    }

    package static func - (left: Timestamp, right: Duration) -> Timestamp {
        Timestamp(microsecondsSinceEpoch: left.microsecondsSinceEpoch - right.wholeMicroseconds)
    }

    package static func - (left: Timestamp, right: Timestamp) -> Duration {
        .microseconds(left.microsecondsSinceEpoch - right.microsecondsSinceEpoch)
    }
}

extension Timestamp {
    /// `2026-11-30T12:34:56.789Z`, in milliseconds. Source: RFC 3339 §5.6.
    package var rfc3339: String {
        let days = secondsSinceEpoch >= 0 ? secondsSinceEpoch / 86_400 : (secondsSinceEpoch - 86_399) / 86_400
        let date = CivilDate(daysSinceEpoch: days)
        let second = secondsSinceEpoch - days * 86_400
        let millisecond = (microsecondsSinceEpoch - secondsSinceEpoch * 1_000_000) / 1_000
        return "\(date.year.padded(4))-\(Int64(date.month).padded(2))-\(Int64(date.day).padded(2))"
            + "T\((second / 3_600).padded(2)):\((second / 60 % 60).padded(2)):\((second % 60).padded(2))"
            + ".\(millisecond.padded(3))Z"
    }

    /// `Mon, 30 Nov 2026 12:34:56 GMT`. Source: RFC 9110 §5.6.7, IMF-fixdate.
    package var httpDate: String {
        let days = secondsSinceEpoch >= 0 ? secondsSinceEpoch / 86_400 : (secondsSinceEpoch - 86_399) / 86_400
        let date = CivilDate(daysSinceEpoch: days)
        let second = secondsSinceEpoch - days * 86_400
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
    fileprivate func padded(_ width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }
}

extension Duration {
    /// Rounded towards zero.
    package var wholeMicroseconds: Int64 {
        components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
    }

    package var wholeMilliseconds: Int64 { wholeMicroseconds / 1_000 }

    package var wholeSeconds: Int64 { components.seconds }

    package static func minutes(_ count: Int64) -> Duration { .seconds(count * 60) }
    package static func hours(_ count: Int64) -> Duration { .seconds(count * 3_600) }
    package static func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
}
