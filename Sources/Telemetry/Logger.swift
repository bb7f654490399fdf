package import Primitives

/// Writes one JSON object a line: a constant message plus dotted keys.
///
/// Values are plain text, numbers and truth values; what looks like a token is cut out on the way (`Redaction`). A
/// logger is a value: `with` gives one that adds fields to every line, such as a request id.
package struct Logger: Sendable {
    package enum Level: Int, Sendable, Comparable, CaseIterable {
        case debug, info, warning, error

        package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }

        package var name: String {
            switch self {
            case .debug: "debug"
            case .info: "info"
            case .warning: "warning"
            case .error: "error"
            }
        }
    }

    /// Says nothing: for tests and tools.
    package static let disabled = Logger(level: .error, clock: nil, sink: nil)

    private let level: Level
    private let clock: (any WallClock)?
    private let sink: (any LogSink)?
    private let throttle = LogThrottle()
    private var context: [LogField] = []

    package init(level: Level, clock: any WallClock, sink: any LogSink) {
        self.init(level: level, clock: Optional(clock), sink: sink)
    }

    private init(level: Level, clock: (any WallClock)?, sink: (any LogSink)?) {
        self.level = level
        self.clock = clock
        self.sink = sink
    }

    package func with(_ fields: [LogField]) -> Logger {
        var logger = self
        logger.context += fields
        return logger
    }

    package func debug(_ message: StaticString, _ fields: [LogField] = []) { log(.debug, message, fields) }
    package func info(_ message: StaticString, _ fields: [LogField] = []) { log(.info, message, fields) }
    package func warning(_ message: StaticString, _ fields: [LogField] = []) { log(.warning, message, fields) }
    package func error(_ message: StaticString, _ fields: [LogField] = []) { log(.error, message, fields) }

    /// For what clients can cause without bound: at most one line of the same message in `Limits.throttleInterval`, with the
    /// number of `occurrences` since the line before.
    ///
    /// - Parameter kind: lines of one message that are throttled apart. Never text of a client: kinds are kept for good.
    package func throttled(
        _ level: Level, _ message: StaticString, of kind: String = "", _ fields: [LogField] = []
    ) {
        guard let clock, writes(level),
            let occurrences = throttle.admit(LogThrottle.Kind(message.description, kind), at: clock.now())
        else { return }
        log(level, message, fields + [LogField("occurrences", occurrences)])
    }

    /// Whether a line of this level is written: ask before making the fields of one for each request.
    package func writes(_ level: Level) -> Bool { sink != nil && level >= self.level }

    package func log(_ level: Level, _ message: StaticString, _ fields: [LogField] = []) {
        guard let sink, let clock, level >= self.level else { return }
        sink.write(LogLine.render(level: level, message: message, fields: context + fields, at: clock.now()))
    }
}

/// Takes finished lines, each with its line feed. Must not block its caller.
package protocol LogSink: Sendable {
    func write(_ line: [UInt8])
}

/// One key and value of a log line. Keys are dotted and constant: `http.status`.
package struct LogField: Sendable {
    enum Value: Sendable {
        case text(String)
        case number(Int64)
        case truth(Bool)
    }

    let key: StaticString
    let value: Value

    package init(_ key: StaticString, _ value: String) {
        self.key = key
        self.value = .text(value)
    }

    package init(_ key: StaticString, _ value: some BinaryInteger) {
        self.key = key
        self.value = .number(Int64(clamping: value))
    }

    package init(_ key: StaticString, _ value: Bool) {
        self.key = key
        self.value = .truth(value)
    }
}
