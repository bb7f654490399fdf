import Testing

@testable import SallyportServer

@Suite("Time zone of times without one")
struct TimeZoneSettingTests {
    @Test(
        "an offset is read as people write it, and handed on with the sign that PostgreSQL reads",
        arguments: [
            ("+09", "<+09:00>-09:00"), ("UTC+9", "<+09:00>-09:00"), ("-03:30", "<-03:30>+03:30"),
            ("-0330", "<-03:30>+03:30"), ("GMT-3", "<-03:00>+03:00"), ("Asia/Tokyo", "Asia/Tokyo"), ("UTC", "UTC"),
        ])
    func offsets(text: String, expected: String) throws {
        #expect(try SettingValue.timeZone(text) == expected)
    }
}
