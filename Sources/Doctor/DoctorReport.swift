/// What the doctor has found, in the order of the checks.
package struct DoctorReport: Equatable, Sendable {
    package enum Level: String, Sendable {
        case ok, warning, fault
    }

    package struct Entry: Equatable, Sendable {
        package let level: Level
        /// What was looked at: database, keys, …
        package let check: String
        package let sentence: String
    }

    package private(set) var entries: [Entry] = []

    package init() {}

    package mutating func add(_ level: Level, _ check: String, _ sentence: String) {
        entries.append(Entry(level: level, check: check, sentence: sentence))
    }

    package mutating func add(_ finding: PowerSyncFinding, _ check: String) {
        let level: Level = finding.fault.isWarning ? .warning : .fault
        add(level, check, "\(finding.fault.name): \(finding.sentence)")
    }

    /// `ok       database: …`
    package var lines: [String] {
        entries.map { entry in
            let level = entry.level.rawValue
            let padding = String(repeating: " ", count: 8 - level.count)
            return "\(level)\(padding)\(entry.check): \(entry.sentence)"
        }
    }

    package var hasFault: Bool { entries.contains { $0.level == .fault } }
}
