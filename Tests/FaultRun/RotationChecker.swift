/// Judges the history of a run by the twelve invariants. Pure: the same history has the same violations.
package struct RotationChecker {
    package struct Violation: Equatable, Sendable, CustomStringConvertible {
        package let invariant: Int
        package let text: String

        package var description: String { "I\(invariant): \(text)" }
    }

    /// Seconds from the end of a fault to the first success.
    package var recovery = 2.0
    /// Seconds that an answer may take.
    package var budget = 3.0

    package init(recovery: Double = 2, budget: Double = 3) {
        self.recovery = recovery
        self.budget = budget
    }

    package func violations(in history: History) -> [Violation] {
        let families = Dictionary(grouping: history.operations, by: \.family)
        return families.keys.sorted().flatMap { judge(families[$0] ?? [], named: $0) }
            + history.operations.flatMap { discipline($0, history) }
            + history.faults.flatMap { recoveries($0, history) }
    }

    // MARK: One family

    private func judge(_ operations: [Operation], named family: String) -> [Violation] {
        let refreshes = operations.filter { $0.kind == .refresh }
        return falseSignOuts(operations, refreshes) + forks(operations, family) + steps(refreshes)
            + probes(refreshes) + thefts(refreshes) + revocations(operations, refreshes)
    }

    /// I1 and I8: whoever presents its newest token is never refused, and what was handed out is never unknown.
    private func falseSignOuts(_ operations: [Operation], _ refreshes: [Operation]) -> [Violation] {
        let end =
            operations.filter { $0.kind == .revoke || $0.actor == .thief || $0.actor == .ancestorProbe }
            .map(\.start).min() ?? .infinity
        return refreshes.compactMap { operation in
            guard operation.actor == .owner || operation.actor == .leafProbe, let status = operation.status,
                (400..<429).contains(status), operation.end < end
            else { return nil }
            let isUnknown = ["session_unknown", "token_foreign", "token_malformed"].contains(operation.reason ?? "")
            return Violation(
                invariant: isUnknown ? 8 : 1,
                text: "\(operation.family): generation \(operation.presentedGeneration ?? 0) of its owner was answered "
                    + "\(status) \(operation.reason ?? "")")
        }
    }

    /// I2: one token for each generation.
    private func forks(_ operations: [Operation], _ family: String) -> [Violation] {
        var tokens: [Int64: Set<String>] = [:]
        for operation in operations {
            guard let generation = operation.generation, let token = operation.tokenHash else { continue }
            tokens[generation, default: []].insert(token)
        }
        return tokens.filter { $0.value.count > 1 }.keys.sorted().map {
            Violation(invariant: 2, text: "\(family): generation \($0) has \(tokens[$0]?.count ?? 0) tokens")
        }
    }

    /// I3: a success goes on to the next generation, or repeats one that is there already.
    private func steps(_ refreshes: [Operation]) -> [Violation] {
        refreshes.compactMap { operation in
            guard operation.status == 200, let from = operation.presentedGeneration else { return nil }
            guard let to = operation.generation, to > from else {
                return Violation(
                    invariant: 3, text: "\(operation.family): generation \(from) became \(operation.generation ?? 0)")
            }
            return nil
        }
    }

    /// I4: the leaf works; an ancestor after the windows kills, and kills the leaf with it.
    private func probes(_ refreshes: [Operation]) -> [Violation] {
        refreshes.compactMap { operation in
            let isAsItMust: Bool
            switch operation.actor {
            case .leafProbe: isAsItMust = operation.status == 200
            case .ancestorProbe, .deadProbe:
                isAsItMust = operation.status == 400 && operation.reason == "refresh_reused"
            case .owner, .thief, .verifier: return nil
            }
            return isAsItMust
                ? nil
                : Violation(
                    invariant: 4,
                    text: "\(operation.family): \(operation.actor.rawValue) was answered \(operation.status ?? 0) "
                        + (operation.reason ?? ""))
        }
    }

    /// I5: a thief's old copy is refused, and its family dies.
    private func thefts(_ refreshes: [Operation]) -> [Violation] {
        guard
            let theft = refreshes.filter({ $0.actor == .thief && $0.status != nil && $0.status != 503 }).min(by: {
                $0.end < $1.end
            })
        else { return [] }
        if theft.status != 400 || theft.reason != "refresh_reused" {
            return [Violation(invariant: 5, text: "\(theft.family): the thief was answered \(theft.status ?? 0)")]
        }
        return refreshes.filter { $0.start > theft.end && $0.status == 200 }.map {
            Violation(invariant: 5, text: "\($0.family): generation \($0.generation ?? 0) after the theft was known")
        }
    }

    /// I6: after a confirmed revocation nothing of the family works, whatever was in flight.
    private func revocations(_ operations: [Operation], _ refreshes: [Operation]) -> [Violation] {
        guard let revoked = operations.filter({ $0.kind == .revoke && $0.status == 204 }).map(\.end).min() else {
            return []
        }
        return refreshes.filter { $0.start > revoked && $0.status == 200 }.map {
            Violation(invariant: 6, text: "\($0.family): refreshed \($0.start - revoked) s after its revocation")
        }
    }

    // MARK: One operation

    private func discipline(_ operation: Operation, _ history: History) -> [Violation] {
        var found: [Violation] = []
        func add(_ invariant: Int, _ text: String) { found.append(Violation(invariant: invariant, text: text)) }
        if let status = operation.status {
            switch status {
            case 200, 204: break
            case 400, 401:
                // I7: a verdict says why and what to do.
                if operation.reason == nil || operation.action == nil {
                    add(7, "\(status) without a reason or an action")
                }
            case 429, 503:
                if !operation.hasRetryAfter { add(7, "\(status) without Retry-After") }
            default: add(7, "\(operation.kind.rawValue) was answered \(status)")
            }
            // I9: no 503 without a cause.
            if status == 503, !history.faults.contains(where: { $0.mayRefuse && covers($0, operation) }) {
                add(9, "503 \(operation.reason ?? "") at \(operation.end) without a fault")
            }
            if operation.end - operation.start > budget {
                add(11, "\(operation.kind.rawValue) took \(operation.end - operation.start) s")
            }
        }
        if operation.isVerified == false { add(10, "\(operation.family): an access token does not verify") }
        if operation.kind == .keySet, let status = operation.status, status != 200 {
            add(12, "the key set was answered \(status)")
        }
        return found
    }

    private func covers(_ fault: FaultWindow, _ operation: Operation) -> Bool {
        operation.end >= fault.start && operation.start <= fault.end + recovery
    }

    /// I9: the first success comes in time.
    private func recoveries(_ fault: FaultWindow, _ history: History) -> [Violation] {
        let later = history.operations.filter { $0.kind == .refresh && $0.end > fault.end }
        guard !later.isEmpty else { return [] }
        let first = later.filter { $0.status == 200 }.map(\.end).min() ?? .infinity
        // Nobody asked in time: nothing can be said.
        guard later.map(\.start).min() ?? .infinity < fault.end + recovery / 2 else { return [] }
        return first - fault.end <= recovery
            ? []
            : [Violation(invariant: 9, text: "\(fault.name): the first success came \(first - fault.end) s after it")]
    }
}
