import FaultRun
import Testing

@Suite("Rotation checker on a model server")
struct ModelServerTests {
    /// The invariants of which at least one has to tell of the bug.
    private static let telling: [(bug: ModelServer.Bug, invariants: Set<Int>)] = [
        (.noGrace, [1]), (.forkByRace, [2]), (.freshSuccessor, [2]), (.unknownWhenDown, [8]), (.noRetryAfter, [7]),
        (.answerBeforeCommit, [8, 2]), (.revokeRace, [6]), (.noReuseDetection, [5, 4]), (.wideRevocation, [1]),
        (.stuckAfterFailover, [9]), (.unpublishedKey, [10]), (.unrotated, [3]), (.statusFiveHundred, [7]),
        (.slow, [11]),
        (.keySetNeedsDatabase, [12]), (.silent, [7]),
    ]

    @Test("a server that follows the contract has no violation, whatever the seed", arguments: 1...20)
    func correct(seed: Int) {
        let history = ModelServer.history(nil, seed: UInt64(seed))
        #expect(RotationChecker().violations(in: history) == [])
        // It was no idle run: answers were lost, outages were seen, all kinds of probes were made.
        #expect(history.operations.count > 400)
        #expect(history.operations.contains { $0.status == nil })
        #expect(history.operations.contains { $0.status == 503 })
        for actor in [Operation.Actor.thief, .leafProbe, .ancestorProbe, .deadProbe] {
            #expect(history.operations.contains { $0.actor == actor }, "\(actor)")
        }
    }

    @Test("every planted bug is told by its invariant", arguments: ModelServer.Bug.allCases)
    func planted(bug: ModelServer.Bug) throws {
        let invariants = try #require(Self.telling.first { $0.bug == bug }?.invariants)
        for seed in UInt64(1)...5 {
            let found = Set(RotationChecker().violations(in: ModelServer.history(bug, seed: seed)).map(\.invariant))
            #expect(!found.isDisjoint(with: invariants), "seed \(seed): found \(found.sorted())")
        }
    }

    @Test("the same seed makes the same history")
    func seeds() {
        #expect(ModelServer.history(nil, seed: 3) == ModelServer.history(nil, seed: 3))
        #expect(ModelServer.history(nil, seed: 3) != ModelServer.history(nil, seed: 4))
    }
}
