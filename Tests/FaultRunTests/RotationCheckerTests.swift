import FaultRun
import Testing

/// A history of a server that does everything right, and what a broken one would have written in its place.
@Suite("Rotation checker")
struct RotationCheckerTests {
    private static func refresh(
        _ family: String, _ from: Int64, at start: Double, _ actor: Operation.Actor = .owner,
        as change: (inout Operation) -> Void = { _ in }
    ) -> Operation {
        var operation = Operation(
            .refresh, actor, family: family, presentedGeneration: from, start: start, end: start + 0.1)
        operation.status = 200
        operation.generation = from + 1
        operation.tokenHash = "\(family)-\(from + 1)"
        operation.isVerified = true
        change(&operation)
        return operation
    }

    private static func refused(_ reason: String) -> (inout Operation) -> Void {
        {
            $0.status = 400
            $0.reason = reason
            $0.action = "lock"
            $0.generation = nil
            $0.tokenHash = nil
            $0.isVerified = nil
        }
    }

    private static func unavailable(_ operation: inout Operation) {
        operation.status = 503
        operation.reason = "dependency"
        operation.action = "retry"
        operation.retryAfter = 1
        operation.generation = nil
        operation.tokenHash = nil
        operation.isVerified = nil
    }

    private static func keySet(_ status: Int, at start: Double) -> Operation {
        var operation = Operation(.keySet, .verifier, family: "key set", start: start, end: start + 0.01)
        operation.status = status
        return operation
    }

    /// Racing refreshes, a lost answer, an outage, a theft, a revocation, probes: all as they must be.
    private static let clean: History = {
        var revoked = Operation(.revoke, .owner, family: "revoked", start: 5, end: 5.1)
        revoked.status = 204
        return History(
            operations: [
                refresh("a", 1, at: 1), refresh("a", 1, at: 1),
                refresh("a", 2, at: 2) {
                    $0.status = nil
                    $0.generation = nil
                    $0.tokenHash = nil
                    $0.isVerified = nil
                },
                refresh("a", 2, at: 3), refresh("a", 3, at: 10.2, as: unavailable), refresh("a", 3, at: 11.5),
                refresh("a", 4, at: 20, .leafProbe),
                refresh("a", 1, at: 21, .ancestorProbe, as: refused("refresh_reused")),
                refresh("a", 5, at: 22, .deadProbe, as: refused("refresh_reused")),
                refresh("revoked", 1, at: 4), revoked, refresh("revoked", 2, at: 6, as: refused("device_revoked")),
                refresh("stolen", 1, at: 4), refresh("stolen", 2, at: 5), refresh("stolen", 3, at: 6),
                refresh("stolen", 1, at: 7, .thief, as: refused("refresh_reused")),
                refresh("stolen", 4, at: 8, as: refused("refresh_reused")),
                keySet(200, at: 1), keySet(200, at: 10.5),
            ],
            faults: [
                FaultWindow("lost answers", start: 1.9, end: 2.5, excuses: .lost),
                FaultWindow("outage", start: 10, end: 11, excuses: .unavailable),
            ],
            rows: [SessionRow(family: "a", generation: 5, endReason: "refresh_reused", restorations: 0)])
    }()

    @Test("the history of a correct server has no violation")
    func correct() {
        #expect(RotationChecker().violations(in: Self.clean) == [])
    }

    struct Defect: Sendable, CustomTestStringConvertible {
        let name: String
        let invariant: Int
        let operation: Operation

        var testDescription: String { name }
    }

    static let defects: [Defect] = [
        Defect(
            name: "no grace: a lost answer costs the session", invariant: 1,
            operation: refresh("a", 2, at: 3.5, as: refused("refresh_reused"))),
        Defect(
            name: "an outage is answered as a verdict", invariant: 1,
            operation: refresh("a", 3, at: 10.4, as: refused("session_revoked"))),
        Defect(
            name: "a race forks the family", invariant: 2, operation: refresh("a", 1, at: 1) { $0.tokenHash = "other" }),
        Defect(
            name: "a success does not rotate", invariant: 3, operation: refresh("a", 3, at: 12) { $0.generation = 3 }),
        Defect(
            name: "the leaf does not work at the end", invariant: 4,
            operation: refresh("b", 4, at: 20, .leafProbe, as: refused("superseded"))),
        Defect(
            name: "an old token works after the windows", invariant: 4,
            operation: refresh("b", 1, at: 21, .ancestorProbe)),
        Defect(name: "the thief's copy is answered", invariant: 5, operation: refresh("c", 1, at: 7, .thief)),
        Defect(name: "the family lives on after the theft", invariant: 5, operation: refresh("stolen", 4, at: 9)),
        Defect(name: "a refresh outlives the revocation", invariant: 6, operation: refresh("revoked", 2, at: 6)),
        Defect(
            name: "503 without Retry-After", invariant: 7,
            operation: refresh("a", 3, at: 10.3) {
                unavailable(&$0)
                $0.retryAfter = nil
            }),
        Defect(
            name: "a verdict without a reason", invariant: 7,
            operation: refresh("revoked", 2, at: 7) {
                refused("device_revoked")(&$0)
                $0.reason = nil
            }),
        Defect(
            name: "500", invariant: 7,
            operation: refresh("a", 4, at: 13) {
                unavailable(&$0)
                $0.status = 500
            }),
        Defect(
            name: "answered before the commit: a token that was handed out is unknown", invariant: 8,
            operation: refresh("a", 4, at: 13, as: refused("token_foreign"))),
        Defect(
            name: "a generation that nobody asked for", invariant: 2,
            operation: refresh("d", 4, at: 13) {
                $0.generation = 6
                $0.tokenHash = "d-6"
            }),
        Defect(
            name: "a success goes back", invariant: 3,
            operation: refresh("d", 4, at: 13) {
                $0.generation = 2
                $0.tokenHash = "d-2"
            }),
        Defect(
            name: "the row is older than what was handed out", invariant: 8, operation: refresh("a", 5, at: 19.5)),
        Defect(
            name: "Retry-After beyond reason", invariant: 7,
            operation: refresh("a", 3, at: 10.3) {
                unavailable(&$0)
                $0.retryAfter = 3_600
            }),
        Defect(
            name: "401 for a refresh", invariant: 7,
            operation: refresh("revoked", 2, at: 7) {
                refused("device_revoked")(&$0)
                $0.status = 401
            }),
        Defect(
            name: "no answer, and nothing took it", invariant: 7,
            operation: refresh("a", 4, at: 13) {
                unavailable(&$0)
                $0.status = nil
            }),
        Defect(name: "503 without a fault", invariant: 9, operation: refresh("a", 4, at: 15, as: unavailable)),
        Defect(
            name: "an access token by an unpublished key", invariant: 10,
            operation: refresh("a", 4, at: 13) { $0.isVerified = false }),
        Defect(
            name: "an answer that takes five seconds", invariant: 11,
            operation: refresh("a", 4, at: 13) { $0.end = $0.start + 5 }),
        Defect(name: "the key set is away with the database", invariant: 12, operation: keySet(503, at: 10.4)),
    ]

    @Test("each planted defect is told, by its own invariant", arguments: defects)
    func planted(defect: Defect) {
        var history = Self.clean
        history.operations.append(defect.operation)
        let found = RotationChecker().violations(in: history)
        #expect(found.contains { $0.invariant == defect.invariant }, "\(found)")
    }

    @Test("a commit that was lost after its answer is told by the audit, though no client was refused")
    func restored() {
        var history = Self.clean
        history.rows = [SessionRow(family: "a", generation: 5, endReason: nil, restorations: 1)]
        #expect(RotationChecker().violations(in: history).map(\.invariant) == [8])
    }

    @Test("what a fault excuses, and nothing more")
    func excuses() {
        let late = Self.refresh("a", 4, at: 13) { $0.end = 18 }
        for (excuses, isExcused) in [(FaultWindow.Excuses.late, true), (.lost, false), (.unavailable, false)] {
            var history = Self.clean
            history.operations.append(late)
            history.faults.append(FaultWindow("stopped", start: 12, end: 17, excuses: excuses))
            let found = RotationChecker().violations(in: history).map(\.invariant).filter { $0 == 11 }
            #expect(found.isEmpty == isExcused, "\(excuses)")
        }
    }

    @Test("whose own side may end a family is refused for that, and for nothing else")
    func contender() {
        var history = Self.clean
        history.operations.append(Self.refresh("e", 1, at: 13, .contender, as: Self.refused("superseded")))
        #expect(RotationChecker().violations(in: history).isEmpty)
        history.operations.append(Self.refresh("e", 1, at: 14, .contender, as: Self.refused("refresh_reused")))
        #expect(RotationChecker().violations(in: history).map(\.invariant) == [1])
    }

    @Test("a server that stays stuck after the fault is told")
    func stuck() {
        var history = Self.clean
        history.operations.removeAll { $0.start >= 11 && $0.kind == .refresh }
        history.operations += (0..<5).map { Self.refresh("a", 3, at: 11.1 + Double($0), as: Self.unavailable) }
        #expect(RotationChecker().violations(in: history).contains { $0.invariant == 9 && $0.text.contains("outage") })
    }
}
