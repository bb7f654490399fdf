import Foundation
import Testing

/// A few threads of their own for tests that wait for processes and sockets: the pool's threads stay free for the tests
/// beside them, and no more servers run at once than the machine has patience for.
final class BlockingThreads: TaskExecutor, @unchecked Sendable {
    static let shared = BlockingThreads(count: 3)

    // SAFETY: `jobs` is touched under `condition`'s lock only; the object lives as long as the process.
    private let condition = NSCondition()
    private var jobs: [UnownedJob] = []

    private init(count: Int) {
        for _ in 0..<count {
            let thread = Thread { self.work() }
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        condition.withLock {
            jobs.append(job)
            condition.signal()
        }
    }

    private func work() {
        while true {
            let job = condition.withLock {
                while jobs.isEmpty { condition.wait() }
                return jobs.removeFirst()
            }
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

/// Runs a suite's tests on `BlockingThreads`.
struct BlockingTrait: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        // A suite's own scope holds no thread while its tests run.
        guard testCase != nil else { return try await function() }
        try await withTaskExecutorPreference(BlockingThreads.shared) { try await function() }
    }
}

extension Trait where Self == BlockingTrait {
    static var blocking: Self { Self() }
}
