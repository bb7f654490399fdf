/// The invariants of one device session.
struct FamilyJudge {
    private typealias Violation = RotationChecker.Violation

    let name: String
    private let refreshes: [Operation]
    private let revocations: [Operation]
    private let operations: [Operation]
    private let row: SessionRow?

    /// - Parameters:
    ///   - operations: all of this family, in any order.
    ///   - row: what the database says of it at the end.
    init(name: String, operations: [Operation], row: SessionRow?) {
        self.name = name
        self.operations = operations
        self.row = row
        refreshes = operations.filter { $0.kind == .refresh }
        revocations = operations.filter { $0.kind == .revoke }
    }

    var violations: [RotationChecker.Violation] {
        falseSignOuts + forks + strangers + steps + lostCommits + probes + thefts + afterRevocation
    }

    private func violation(_ invariant: Int, _ text: String) -> Violation {
        Violation(invariant: invariant, text: "\(name): \(text)")
    }

    /// I1 and I8: whoever presents its newest token is never refused, and what was handed out is never unknown.
    private var falseSignOuts: [Violation] {
        // From then on the family may be dead.
        let end =
            operations.filter { $0.kind == .revoke || $0.actor == .thief || $0.actor == .ancestorProbe }
            .map(\.start).min() ?? .infinity
        return refreshes.compactMap { operation in
            guard [.owner, .contender, .leafProbe].contains(operation.actor), let status = operation.status,
                (400..<500).contains(status), status != 429, operation.end < end
            else { return nil }
            let reason = operation.reason ?? ""
            if operation.actor == .contender, Self.ownEnds.contains(reason) { return nil }
            return violation(
                Self.isUnknown.contains(reason) ? 8 : 1,
                "generation \(operation.presentedGeneration ?? 0) of its owner was answered \(status) \(reason) at "
                    + "\(operation.end)")
        }
    }

    private static let ownEnds: Set = ["superseded", "session_revoked", "signed_out", "device_revoked"]
    private static let isUnknown: Set = [
        "session_unknown", "token_foreign", "token_malformed", "token_from_future", "invalid_token", "not_found",
    ]

    /// I2: one token for each generation.
    private var forks: [Violation] {
        var tokens: [Int64: Set<String>] = [:]
        for operation in operations {
            guard let generation = operation.generation, let token = operation.tokenHash else { continue }
            tokens[generation, default: []].insert(token)
        }
        return tokens.filter { $0.value.count > 1 }.keys.sorted().map {
            violation(2, "generation \($0) has \(tokens[$0]?.count ?? 0) tokens")
        }
    }

    /// I2: a generation comes into being only where somebody presents the one before it.
    private var strangers: [Violation] {
        var asked: [Int64: Double] = [:]
        for operation in refreshes {
            guard let presented = operation.presentedGeneration else { continue }
            asked[presented] = min(operation.start, asked[presented] ?? .infinity)
        }
        return refreshes.compactMap { operation in
            guard let generation = operation.generation, operation.status == 200,
                asked[generation - 1] ?? .infinity > operation.end
            else { return nil }
            return violation(2, "generation \(generation) came, and nobody had presented \(generation - 1)")
        }
    }

    /// I3: a success goes on to the next generation, or repeats one that is there already; a racer may see one more.
    private var steps: [Violation] {
        refreshes.compactMap { operation in
            guard operation.status == 200, let from = operation.presentedGeneration else { return nil }
            guard let to = operation.generation, to == from + 1 || to == from + 2 else {
                return violation(3, "generation \(from) became \(operation.generation ?? 0)")
            }
            return nil
        }
    }

    /// I8: what was answered was committed. A token above its row is believed by the server (a failover may have lost
    /// commits), so it is the audit that tells.
    private var lostCommits: [Violation] {
        guard let row else { return [] }
        var found: [Violation] = []
        if row.restorations > 0 { found.append(violation(8, "\(row.restorations) commits were lost after the answer")) }
        if let newest = operations.compactMap(\.generation).max(), row.generation < newest {
            found.append(violation(8, "generation \(newest) was handed out, the row says \(row.generation)"))
        }
        return found
    }

    /// I4: the leaf works; an ancestor after the windows kills, and kills the leaf with it.
    private var probes: [Violation] {
        refreshes.compactMap { operation in
            let isAsItMust: Bool
            switch operation.actor {
            case .leafProbe: isAsItMust = operation.status == 200
            case .ancestorProbe, .deadProbe:
                isAsItMust = operation.status == 400 && operation.reason == "refresh_reused"
            case .owner, .contender, .thief, .verifier: return nil
            }
            if isAsItMust { return nil }
            return violation(
                4, "\(operation.actor.rawValue) was answered \(operation.status ?? 0) \(operation.reason ?? "")")
        }
    }

    /// I5: a thief's old copy is refused, and its family dies.
    private var thefts: [Violation] {
        let told = refreshes.filter { $0.actor == .thief && ![nil, 429, 503].contains($0.status) }
        guard let theft = told.min(by: { $0.end < $1.end }) else { return [] }
        if theft.status != 400 || theft.reason != "refresh_reused" {
            return [violation(5, "the thief was answered \(theft.status ?? 0) \(theft.reason ?? "")")]
        }
        return refreshes.filter { $0.start > theft.end && $0.status == 200 }.map {
            violation(5, "generation \($0.generation ?? 0) after the theft was known")
        }
    }

    /// I6: after a confirmed revocation nothing of the family works, whatever was in flight.
    private var afterRevocation: [Violation] {
        guard let revoked = revocations.filter({ $0.status == 204 }).map(\.end).min() else { return [] }
        return refreshes.filter { $0.start > revoked && $0.status == 200 }.map {
            violation(6, "refreshed \($0.start - revoked) s after its revocation")
        }
    }
}
