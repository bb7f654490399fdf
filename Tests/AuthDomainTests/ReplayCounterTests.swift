import AuthTesting
import Primitives
import Testing

@testable import AuthDomain

@Suite("Replays of one device session")
struct ReplayCounterTests {
    private let stack = TokenStack()

    @Test("the third in a row is noted, once, for its device session; a rotation begins the count again")
    func third() async throws {
        let one = try await stack.exchange()
        let other = try await stack.exchange(installation: "installation-0000-0002")
        let next = try await stack.refresh(one.refreshToken)
        _ = try await stack.refresh(other.refreshToken)
        func replay(_ answer: TokenAnswer) async throws {
            #expect(try await stack.refresh(answer.refreshToken).outcome == .replayed(.keyless))
        }
        for _ in 0..<2 {
            try await replay(one)
            try await replay(other)
        }
        #expect(stack.store.replayedSessions.isEmpty)
        try await replay(one)
        let id = try stack.session(one).id
        #expect(stack.store.replayedSessions == [id])
        for _ in 0..<4 { try await replay(one) }
        #expect(stack.store.replayedSessions == [id])

        // A rotation in between: three in all are not three in a row.
        _ = try await stack.refresh(next.refreshToken)
        for _ in 0..<2 { try await replay(next) }
        #expect(stack.store.replayedSessions == [id])
        try await replay(next)
        #expect(stack.store.replayedSessions == [id, id])
    }

    @Test("what is remembered is bounded: a device session that goes on is kept, one of long ago is forgotten")
    func bound() {
        let counter = ReplayCounter()
        let random = SeededRandom(seed: 1)
        let (kept, forgotten) = (UUID(random: random), UUID(random: random))
        #expect(counter.count(of: forgotten, generation: 1) == 1)
        for index in 0..<(3 * Limits.replaysRemembered) {
            #expect(counter.count(of: UUID(random: random), generation: 1) == 1)
            if index % 1_000 == 0 { #expect(counter.count(of: kept, generation: 1) == index / 1_000 + 1) }
        }
        #expect(counter.count(of: forgotten, generation: 1) == 1)
        #expect(counter.count(of: kept, generation: 2) == 1)
    }
}
