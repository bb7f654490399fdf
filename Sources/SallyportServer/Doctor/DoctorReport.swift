/// What the doctor has found, in the order of the checks.
struct DoctorReport: Equatable, Sendable {
    enum Level: String, Sendable {
        case ok, warning, fault
    }

    struct Entry: Equatable, Sendable {
        let level: Level
        /// What was looked at: database, keys, …
        let check: String
        let sentence: String
    }

    private(set) var entries: [Entry] = []

    mutating func add(_ level: Level, _ check: String, _ sentence: String) {
        entries.append(Entry(level: level, check: check, sentence: sentence))
    }

    mutating func add(_ finding: PowerSyncFinding, _ check: String) {
        let level: Level = finding.fault.isWarning ? .warning : .fault
        add(level, check, "\(finding.fault.rawValue): \(finding.sentence)")
    }

    /// `ok       database: …`
    var lines: [String] {
        entries.map { entry in
            let level = entry.level.rawValue
            let padding = String(repeating: " ", count: 8 - level.count)
            return "\(level)\(padding)\(entry.check): \(entry.sentence)"
        }
    }

    var hasFault: Bool { entries.contains { $0.level == .fault } }
}
