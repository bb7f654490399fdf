import Primitives

/// `Mon, 30 Nov 2026 12:34:56 GMT`, as servers have to write it. Source: RFC 9110 §5.6.7, IMF-fixdate.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    static func timestamp(_ text: String) -> Timestamp? {
        let parts = text.split(separator: " ")
        guard parts.count == 6, parts[5] == "GMT", let day = Int64(parts[1]), (1...31).contains(day),
            let month = months.firstIndex(of: String(parts[2])), let year = Int64(parts[3]),
            (1970...9999).contains(year)
        else { return nil }
        let clock = parts[4].split(separator: ":").compactMap { Int64($0) }
        guard clock.count == 3, clock[0] < 24, clock[1] < 60, clock[2] < 61 else { return nil }
        let seconds = days(year, Int64(month + 1), day) * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2]
        return Timestamp(secondsSinceEpoch: seconds)
    }

    /// Since 1970, in the proleptic Gregorian calendar; the year is counted from March, so that a leap day ends it.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let shifted = (month + 9) % 12
        return 365 * year + year / 4 - year / 100 + year / 400 + (153 * shifted + 2) / 5 + day - 719_469
    }
}
