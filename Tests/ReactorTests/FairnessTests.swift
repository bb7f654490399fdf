import Glibc
import Primitives
import Testing

@testable import Reactor

/// How much others may do before a waiter has its turn, in steps of theirs.
@Suite("Fairness")
struct FairnessTests {
    /// Clients that could go on for ever, as many as a busy loop has.
    private static let clientsCount = 300
    private static let step: UInt64 = 50_000
    /// Steps of what a turn's shares and the age of a waiter come to, doubled for what else a busy machine does.
    private static let stepsMax = 2 * Int((2 * Limits.quietWaitMax + 3 * Limits.shareNanoseconds) / step)

    private final class Steps {
        var count = 0
        var isOver = false
    }

    /// Keeps the thread for one step.
    private static func work() {
        let start = MonotonicInstant.now().nanoseconds
        while MonotonicInstant.now().nanoseconds - start < step {}
    }

    /// Steps of 300 clients between the beginning and the end of a wait.
    private static func steps(
        during wait: @escaping @Sendable (EventLoop) async -> Void
    ) async throws -> Int {
        try await onLoop { loop in
            let steps = LoopBound(Steps(), on: loop)
            for _ in 0..<clientsCount {
                loop.spawn {
                    while !steps.value.isOver {
                        work()
                        steps.value.count += 1
                        await loop.pass()
                    }
                }
            }
            // Until all of them are at it.
            while steps.value.count < clientsCount { await loop.pass() }
            let before = steps.value.count
            await wait(loop)
            steps.value.isOver = true
            return steps.value.count - before
        }
    }

    @Test("the measure is one that a waiter behind all the others would fail")
    func measure() async throws {
        #expect(try await Self.steps { await $0.pass() } > Self.stepsMax)
    }

    @Test("a signature and a handshake come before many steps of others")
    func computations() async throws {
        #expect(try await Self.steps { await $0.quietTurn(for: .signature) } < Self.stepsMax)
        #expect(try await Self.steps { await $0.quietTurn(for: .handshake) } < Self.stepsMax)
    }

    @Test("news of a database come before many steps of others")
    func rows() async throws {
        let steps = try await Self.steps { loop in
            var ends: [Int32] = [0, 0]
            precondition(pipe(&ends) == 0, "no pipe")
            await withUnsafeContinuation { (continuation: UnsafeContinuation<Void, Never>) in
                var watcher: Watcher?
                watcher = try? loop.watch(ends[0], .read) { _ in
                    watcher?.close()
                    continuation.resume()
                }
                _ = Glibc.write(ends[1], "x", 1)
            }
            for end in ends { close(end) }
        }
        #expect(steps < Self.stepsMax)
    }

    @Test("a new connection is accepted before many steps of others")
    func accepting() async throws {
        let address = try #require(SocketAddress("127.0.0.1:0"))
        let steps = try await Self.steps { loop in
            guard let listener = try? Listener(address, on: loop) else { return }
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            // Connected once it is in the kernel's queue.
            _ = listener.address.withSockAddr { connect(client, $0, $1) }
            await listener.accept()?.close()
            listener.close()
            close(client)
        }
        #expect(steps < Self.stepsMax)
    }

    @Test("a storm of handshakes holds a signature up for one of them")
    func kinds() async throws {
        let order = try await onLoop { loop in
            let order = Locked<[Character]>([])
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        await loop.quietTurn(for: .handshake)
                        order.withLock { $0.append("h") }
                    }
                }
                for _ in 0..<5 {
                    group.addTask {
                        await loop.quietTurn(for: .signature)
                        order.withLock { $0.append("s") }
                    }
                }
            }
            return order.withLock { String($0) }
        }
        #expect(order.prefix(10) == "shshshshsh" || order.prefix(10) == "hshshshshs")
        #expect(order.count == 55)
    }

    @Test("a queue hands out in the order of arrival, however it grows and wraps")
    func queue() {
        var queue = Queue<Int>()
        var (pushed, popped) = (0, 0)
        for round in 0..<200 {
            for _ in 0..<(round % 7) {
                queue.push(pushed)
                pushed += 1
            }
            for _ in 0..<(round % 5) where !queue.isEmpty {
                #expect(queue.first == popped)
                #expect(queue.pop() == popped)
                popped += 1
            }
        }
        while let element = queue.pop() {
            #expect(element == popped)
            popped += 1
        }
        #expect(pushed == popped)
        #expect(queue.isEmpty && queue.first == nil)
    }
}
