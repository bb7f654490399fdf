import Primitives
import Testing

private struct Counting: RandomSource {
    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8($0) } }
}

@Suite("Values")
struct ValueTests {
    @Test(
        "instants are written as RFC 3339 and as an HTTP date",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z", "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_400, "2000-02-29T00:00:00.000Z", "Tue, 29 Feb 2000 00:00:00 GMT"),
            (784_111_777, "1994-11-06T08:49:37.000Z", "Sun, 06 Nov 1994 08:49:37 GMT"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z", "Mon, 01 Mar 2100 00:00:00 GMT"),
            (-1, "1969-12-31T23:59:59.000Z", "Wed, 31 Dec 1969 23:59:59 GMT"),
        ] as [(Int64, String, String)])
    func dates(seconds: Int64, rfc3339: String, http: String) {
        let instant = Timestamp(secondsSinceEpoch: seconds)
        #expect(instant.rfc3339 == rfc3339)
        #expect(instant.httpDate == http)
    }

    @Test("whole seconds round down, before 1970 too")
    func rounding() {
        #expect(Timestamp(microsecondsSinceEpoch: 1_999_999).secondsSinceEpoch == 1)
        #expect(Timestamp(microsecondsSinceEpoch: -1).secondsSinceEpoch == -1)
        #expect((Timestamp(secondsSinceEpoch: 5) + .milliseconds(1_500)).microsecondsSinceEpoch == 6_500_000)
        #expect(Timestamp(secondsSinceEpoch: 5) - Timestamp(secondsSinceEpoch: 2) == .seconds(3))
    }

    private static let numbers: [Int64] = [.min, .min + 1, -253_402_300_800, -1, 0, 1, 253_402_300_799, .max - 1, .max]

    @Test("arithmetic at the ends of time saturates, in every direction", arguments: numbers, numbers)
    func saturation(left: Int64, right: Int64) {
        let instants = [Timestamp(microsecondsSinceEpoch: left), Timestamp(secondsSinceEpoch: left)]
        let durations: [Duration] = [
            .microseconds(right), .seconds(right), .minutes(right), .hours(right), .days(right),
            Timestamp(microsecondsSinceEpoch: right) - instants[0], .seconds(right) * 3,
        ]
        for (instant, duration) in instants.flatMap({ instant in durations.map { (instant, $0) } }) {
            let (later, earlier) = (instant + duration, instant - duration)
            #expect(duration < .zero ? later <= instant : later >= instant)
            #expect(duration < .zero ? earlier >= instant : earlier <= instant)
            for text in [later.rfc3339, later.httpDate, earlier.rfc3339, earlier.wholeSeconds.httpDate] {
                #expect(!text.isEmpty)
            }
            let difference = later - earlier
            #expect(later < earlier ? difference < .zero : difference >= .zero)
        }
    }

    @Test("the furthest instants are what is added to them")
    func furthest() {
        let (first, last) = (Timestamp(microsecondsSinceEpoch: .min), Timestamp(microsecondsSinceEpoch: .max))
        #expect(Timestamp(secondsSinceEpoch: .max) == last && Timestamp(secondsSinceEpoch: .min) == first)
        #expect(last + .seconds(Int64.max) == last && first - .seconds(Int64.max) == first)
        #expect(last - .seconds(Int64.max) == Timestamp(microsecondsSinceEpoch: 0))
        #expect(last - first == .microseconds(Int64.max) && first - last == .microseconds(Int64.min))
        #expect(first.secondsSinceEpoch == -9_223_372_036_855 && last.secondsSinceEpoch == 9_223_372_036_854)
        #expect(Duration.seconds(Int64.min).wholeMicroseconds == .min && Duration.days(.max) == .seconds(Int64.max))
    }

    @Test("a secret prints as nothing, whatever prints it")
    func secrets() {
        let secret = Secret(Array("hunter2".utf8))
        var dumped = ""
        dump(["k": secret], to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), "\([secret])", dumped] {
            #expect(text.contains("[redacted]"))
            #expect(!text.contains("104"))
        }
        #expect(secret == Secret(Array("hunter2".utf8)))
        #expect(secret != Secret(Array("hunter3".utf8)))
        #expect(secret != Secret([]))
    }

    @Test("a UUID of random bytes is version 4, and its text goes both ways")
    func uuids() {
        let id = UUID(random: Counting())
        #expect(id.description == "00010203-0405-4607-8809-0a0b0c0d0e0f")
        #expect(UUID(id.description.uppercased()) == id)
    }

    @Test(
        "text that is no UUID is refused",
        arguments: [
            "", "1", "not-a-uuid", "00010203-0405-4607-8809-0a0b0c0d0e0", "000102030405-4607-8809-0a0b0c0d0e0f0",
            "00010203-0405-4607-8809-0a0b0c0d0e0g", "{0010203-0405-4607-8809-0a0b0c0d0e0}",
        ])
    func notUUIDs(text: String) {
        #expect(UUID(text) == nil)
    }
}
