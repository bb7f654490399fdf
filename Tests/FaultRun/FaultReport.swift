import Foundation

/// What a run has seen, phase by phase, and how it is judged.
package struct FaultReport: Sendable {
    package enum Outcome: Equatable, Sendable {
        case quiet
        /// How often the fault has struck; 0 makes the run invalid.
        case struck(Int)
        case notReached(String)
    }

    package struct Phase: Sendable {
        package let name: String
        package let start: Double
        package let faultEnd: Double
        /// With the time to recover.
        package let end: Double
        package let outcome: Outcome

        package init(name: String, start: Double, faultEnd: Double, end: Double, outcome: Outcome) {
            self.name = name
            self.start = start
            self.faultEnd = faultEnd
            self.end = end
            self.outcome = outcome
        }
    }

    package let seed: UInt64
    package let history: History
    package let phases: [Phase]
    /// Of the servers after the first phase and after the last.
    package let footprints: [String]

    package init(seed: UInt64, history: History, phases: [Phase], footprints: [String]) {
        self.seed = seed
        self.history = history
        self.phases = phases
        self.footprints = footprints
    }

    /// Faults that did not happen: the run says nothing.
    package var idleFaults: [String] { phases.filter { $0.outcome == .struck(0) }.map(\.name) }

    /// Each phase with its refreshes, refusals, recovery and times, and the sums.
    package var table: String {
        let head = "phase                 refr   200   400   503  lost  strikes  recovery    p50     p99     max ms"
        var lines = ["seed \(seed)", head]
        for phase in phases { lines.append(line(phase)) }
        lines += ["", operations, refusals, notReached]
        for (name, footprint) in zip(["after the first phase", "at the end"], footprints) {
            lines.append("\(name): \(footprint)")
        }
        return lines.joined(separator: "\n")
    }

    private func line(_ phase: Phase) -> String {
        if case .notReached = phase.outcome { return Self.left(phase.name, 20) + "  not reached" }
        let during = history.operations.filter {
            $0.kind == .refresh && $0.start >= phase.start && $0.start < phase.end
        }
        func count(_ status: Int?) -> String { Self.right("\(during.filter { $0.status == status }.count)", 6) }
        let times = during.filter { $0.status != nil }.map { ($0.end - $0.start) * 1_000 }.sorted()
        var columns = Self.left(phase.name, 20) + Self.right("\(during.count)", 6)
        columns += count(200) + count(400) + count(503) + count(nil)
        if case .struck(let strikes) = phase.outcome {
            let first = history.operations.filter {
                $0.kind == .refresh && $0.status == 200 && $0.end > phase.faultEnd
            }.map(\.end).min()
            columns += Self.right("\(strikes)", 9)
            columns += Self.right(first.map { String(format: "%.3f s", $0 - phase.faultEnd) } ?? "never", 10)
        } else {
            columns += Self.right("-", 9) + Self.right("-", 10)
        }
        for share in [0.5, 0.99, 1] { columns += Self.right(Self.percentile(times, share), 8) }
        return columns
    }

    private var operations: String {
        let kinds = Dictionary(grouping: history.operations, by: \.kind)
        return "operations: \(history.operations.count) ("
            + kinds.map { "\($0.key.rawValue) \($0.value.count)" }.sorted().joined(separator: ", ")
            + "), families: \(history.rows.count)"
    }

    private var refusals: String {
        let refused = history.operations.filter { $0.status == 503 }
        let parts = phases.compactMap { phase -> String? in
            let own = refused.filter { $0.start >= phase.start && $0.start < phase.end }
            if own.isEmpty { return nil }
            let reasons = Dictionary(grouping: own, by: { $0.reason ?? "none" })
            return phase.name + " ("
                + reasons.map { "\($0.key) \($0.value.count)" }.sorted().joined(separator: ", ") + ")"
        }
        return "503 of all calls: \(refused.count)" + (parts.isEmpty ? "" : ": " + parts.joined(separator: "; "))
    }

    private var notReached: String {
        let all = phases.compactMap { phase -> String? in
            if case .notReached(let why) = phase.outcome { "\(phase.name) (\(why))" } else { nil }
        }
        return "not reached: " + (all.isEmpty ? "nothing" : all.joined(separator: "; "))
    }

    private static func left(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }

    private static func percentile(_ sorted: [Double], _ share: Double) -> String {
        guard !sorted.isEmpty else { return "-" }
        return String(format: "%.1f", sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))])
    }
}
