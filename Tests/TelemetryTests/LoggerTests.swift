import JSON
import Primitives
import Telemetry
import Testing

private struct FixedClock: WallClock {
    func now() -> Timestamp { Timestamp(microsecondsSinceEpoch: 1_800_000_000_123_456) }
}

private final class SetClock: WallClock {
    let seconds = Locked<Int64>(0)

    func now() -> Timestamp { Timestamp(secondsSinceEpoch: 1_800_000_000 + seconds.withLock { $0 }) }
}

private final class Recorder: LogSink {
    private let lines = Locked<[[UInt8]]>([])

    func write(_ line: [UInt8]) { lines.withLock { $0.append(line) } }

    var objects: [JSONObject] {
        lines.withLock { $0 }.compactMap { line in
            guard line.last == UInt8(ascii: "\n"), case .object(let object)? = try? JSONParser.parse(line.dropLast())
            else { return nil }
            return object
        }
    }
}

@Suite("Logger")
struct LoggerTests {
    private let recorder = Recorder()

    @Test("a line is one JSON object with time, level, message and the fields of logger and call")
    func line() {
        Logger(level: .info, clock: FixedClock(), sink: recorder)
            .with([LogField("request.id", "r1")])
            .warning("slow", [LogField("duration.ms", 12), LogField("retried", true)])
        #expect(
            recorder.objects == [
                [
                    "time": "2027-01-15T08:00:00.123Z", "level": "warning", "message": "slow", "request.id": "r1",
                    "duration.ms": 12, "retried": true,
                ]
            ])
    }

    @Test(
        "of a line that clients cause without bound one is written in five seconds and kind, with the count of the others"
    )
    func throttled() {
        let clock = SetClock()
        let logger = Logger(level: .info, clock: clock, sink: recorder)
        for kind in ["a", "b"] {
            for _ in 0..<100 { logger.with([LogField("k", kind)]).throttled(.warning, "refused", of: kind) }
        }
        logger.throttled(.debug, "below the level")
        clock.seconds.withLock { $0 = 4 }
        logger.throttled(.warning, "refused", of: "a")
        clock.seconds.withLock { $0 = 5 }
        logger.throttled(.warning, "refused", of: "a")
        // A clock that is set back silences nothing.
        clock.seconds.withLock { $0 = -3_600 }
        logger.throttled(.warning, "refused", of: "a")
        #expect(recorder.objects.map { $0["occurrences"] } == [1, 1, 101, 1])
    }

    @Test("lines below the level are not written")
    func level() {
        let logger = Logger(level: .warning, clock: FixedClock(), sink: recorder)
        logger.debug("a")
        logger.info("b")
        logger.error("c")
        #expect(recorder.objects.map { $0["message"] } == ["c"])
    }

    @Test(
        "input cannot forge a line or a member",
        arguments: ["a\nb", "\u{1b}[31m", "\",\"level\":\"error", "\u{2028}", "\\", "\0"])
    func forging(value: String) {
        Logger(level: .debug, clock: FixedClock(), sink: recorder).info("m", [LogField("name", value)])
        #expect(recorder.objects.count == 1)
        #expect(recorder.objects.first?["name"] == .string(value))
    }

    @Test(
        "what looks like a token is cut out",
        arguments: [
            ("bad eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln here", "bad [redacted] here"),
            ("eyJhbGci", "[redacted]"), ("plain text", "plain text"),
        ])
    func redaction(text: String, want: String) {
        #expect(Redaction.withoutTokens(text) == want)
    }
}
