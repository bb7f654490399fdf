extension SettingValue {
    /// A name of the time zone database, or an offset as people write it: `+09`, `-03:30`, `UTC+2` lie so many hours ahead
    /// of UTC or behind it. PostgreSQL reads the sign of such an offset the other way round (POSIX), so that it gets both:
    /// `<+09:00>-09:00` is nine hours ahead, and shown as +09:00.
    static func timeZone(_ text: String) throws(SettingFault) -> String {
        let fault = SettingFault("the name of a time zone such as Europe/Berlin, or an offset such as UTC+02:00")
        var offset = Substring(text)
        if offset.hasPrefix("UTC") || offset.hasPrefix("GMT") { offset = offset.dropFirst(3) }
        guard let sign = offset.first, sign == "+" || sign == "-" else {
            // Letters and a sign outside a name of the database, such as JST-9, would be read as POSIX.
            let isName = text.contains("/") || !text.contains("+") && !text.contains("-") && !text.contains("<")
            guard isName, !text.contains(":"), !text.contains(",") else { throw fault }
            return try identifier(text)
        }
        var digits = offset.dropFirst().split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        if digits.count == 1, digits[0].utf8.count == 4 {
            digits = [String(digits[0].prefix(2)), String(digits[0].suffix(2))]
        }
        guard digits.count <= 2, digits.allSatisfy({ (1...2).contains($0.utf8.count) }),
            digits.last?.utf8.count == 2
                || digits.count == 1, let hours = UInt8(digits[0]),
            let minutes = digits.count == 2 ? UInt8(digits[1]) : 0,
            hours <= 15, minutes < 60
        else { throw fault }
        func padded(_ number: UInt8) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let size = "\(padded(hours)):\(padded(minutes))"
        return "<\(sign)\(size)>\(sign == "+" ? "-" : "+")\(size)"
    }
}
