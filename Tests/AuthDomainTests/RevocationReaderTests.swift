import Primitives
import Testing

@testable import AuthDomain

@Suite("Readers of revocations")
struct RevocationReaderTests {
    private struct Quiet: RevocationStore {
        func revocations(
            since cursor: String?, accessLifetime: Duration, at now: Timestamp
        ) async throws(Unavailability) -> RevocationPage {
            RevocationPage(cursor: "1", revocations: [], isReset: false)
        }
    }

    private let stack = TokenStack()
    private let pausing = Locked(0)
    private let isOver = Locked(false)

    private var feed: RevocationFeed {
        RevocationFeed(
            policy: stack.policy, store: Quiet(), clock: stack.clock,
            pause: { [pausing, isOver] _ in
                pausing.withLock { $0 += 1 }
                for _ in 0..<1_000 where !isOver.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(5)) }
            }, isStopping: { [isOver] in isOver.withLock { $0 } })
    }

    @Test("so many may wait; one more is told to come later, and who does not wait is answered")
    func bound() async throws {
        let feed = feed
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<256 {
                group.addTask { _ = try await feed.page(since: "1", wait: .seconds(30)) { _ in false } }
            }
            while pausing.withLock({ $0 }) < 256 { try await Task.sleep(for: .milliseconds(1)) }
            await #expect(throws: AuthFailure.unavailable(.busy)) {
                try await feed.page(since: "1", wait: .seconds(1)) { _ in false }
            }
            #expect(try await feed.page(since: "1", wait: .zero) { _ in false }.cursor == "1")
            isOver.withLock { $0 = true }
            try await group.waitForAll()
        }
        #expect(try await feed.page(since: "1", wait: .seconds(1)) { _ in false }.cursor == "1")
    }
}
