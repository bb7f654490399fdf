/// Judges the history of a run by the twelve invariants. Pure: the same history has the same violations.
package struct RotationChecker: Sendable {
    package struct Violation: Equatable, Sendable, CustomStringConvertible {
        package let invariant: Int
        package let text: String

        package var description: String { "I\(invariant): \(text)" }
    }

    /// Seconds from the end of a fault to the first success.
    package var recovery: Double
    /// Seconds that an answer may take.
    package var budget: Double
    /// What a busy machine may take from the end of a fault until the word of it has reached everybody.
    package var grace: Double

    package init(recovery: Double = 2, budget: Double = 3, grace: Double = 0.5) {
        self.recovery = recovery
        self.budget = budget
        self.grace = grace
    }

    /// For a machine that is shared with a build or another run: more time, and nothing else.
    package static let relaxed = RotationChecker(recovery: 4, budget: 6, grace: 1)

    package func violations(in history: History) -> [Violation] {
        let families = Dictionary(grouping: history.operations, by: \.family)
        let rows = Dictionary(history.rows.map { ($0.family, $0) }, uniquingKeysWith: { first, _ in first })
        return families.keys.sorted().flatMap { name in
            FamilyJudge(name: name, operations: families[name] ?? [], row: rows[name]).violations
        }
            + history.operations.flatMap { discipline($0, history) }
            + history.faults.flatMap { recoveries($0, history) }
    }

    private func discipline(_ operation: Operation, _ history: History) -> [Violation] {
        var found: [Violation] = []
        func add(_ invariant: Int, _ text: String) {
            found.append(
                Violation(invariant: invariant, text: "\(operation.kind.rawValue) at \(operation.start): \(text)"))
        }
        func excuses(_ excuse: FaultWindow.Excuses, after: Double) -> Bool {
            history.faults.contains {
                $0.excuses.contains(excuse) && operation.end >= $0.start && operation.start <= $0.end + after
            }
        }
        // I10
        if operation.isVerified == false { add(10, "an access token of \(operation.family) does not verify") }
        if operation.kind == .verification { return found }
        guard let status = operation.status else {
            // I7: only answers that we took away are missing. I12 for the key set.
            if !excuses(.lost, after: grace) {
                add(operation.kind == .keySet ? 12 : 7, "no answer, and no fault took it")
            }
            return found
        }
        // I12
        if operation.kind == .keySet {
            if status != 200 { add(12, "answered \(status)") }
        } else {
            found += statuses(operation, status)
            // I9: no 503 without a cause.
            if status == 503, !excuses(.unavailable, after: recovery) {
                add(9, "503 \(operation.reason ?? "") without a fault")
            }
        }
        // I11
        if operation.end - operation.start > budget, !excuses(.late, after: 0) {
            add(11, "took \(operation.end - operation.start) s")
        }
        return found
    }

    /// I7: success, a verdict with reason and action, or "later" with a time.
    private func statuses(_ operation: Operation, _ status: Int) -> [Violation] {
        func found(_ text: String) -> [Violation] {
            [Violation(invariant: 7, text: "\(operation.kind.rawValue) at \(operation.start): \(text)")]
        }
        switch status {
        case 200, 204: return []
        case 400, 401:
            if status == 401, operation.kind == .refresh { return found("a refresh was answered 401") }
            return operation.reason == nil || operation.action == nil
                ? found("\(status) without a reason or an action") : []
        case 429, 503:
            guard let seconds = operation.retryAfter else { return found("\(status) without Retry-After") }
            return (1...30).contains(seconds) ? [] : found("\(status) with Retry-After: \(seconds)")
        default: return found("answered \(status) \(operation.reason ?? "")")
        }
    }

    /// I9: the first success comes in time.
    private func recoveries(_ fault: FaultWindow, _ history: History) -> [Violation] {
        let later = history.operations.filter { $0.kind == .refresh && $0.end > fault.end }
        // Nobody asked in time: nothing can be said.
        guard later.contains(where: { $0.start < fault.end + recovery / 2 }) else { return [] }
        let first = later.filter { $0.status == 200 }.map(\.end).min() ?? .infinity
        if first - fault.end <= recovery { return [] }
        return [Violation(invariant: 9, text: "\(fault.name): the first success came \(first - fault.end) s after it")]
    }
}
