import Primitives
import Reactor
import Testing

/// Runs a body on a loop of its own and ends the loop afterwards.
func onLoop<Result: Sendable>(_ body: @escaping @Sendable (EventLoop) async -> Result) async throws -> Result {
    let loop = try EventLoop(name: "test")
    loop.start()
    let result = await loop.run { await body(loop) }
    loop.stop()
    loop.join()
    return result
}

@Suite("Event loop")
struct EventLoopTests {
    @Test("a task stays on its loop's thread across suspensions, child tasks included")
    func affinity() async throws {
        let isCurrent = try await onLoop { loop in
            var seen = [loop.isCurrent]
            await loop.sleep(for: .milliseconds(1))
            seen.append(loop.isCurrent)
            await loop.quietTurn(for: .signature)
            seen.append(loop.isCurrent)
            async let child = loop.isCurrent
            seen.append(await child)
            seen.append(EventLoop.current === loop)
            return seen
        }
        #expect(isCurrent == [true, true, true, true, true])
        #expect(EventLoop.current == nil)
    }

    @Test("timers fire in the order of their instants, never early, and not once cancelled")
    func timers() async throws {
        let order = try await onLoop { loop in
            var order: [Int] = []
            let start = ContinuousClock.now
            var early = false
            for delay in [30, 10, 20] {
                _ = loop.schedule(after: .milliseconds(delay)) {
                    order.append(delay)
                    early = early || ContinuousClock.now - start < .milliseconds(delay)
                }
            }
            loop.schedule(after: .milliseconds(5)) { order.append(5) }.cancel()
            await loop.sleep(for: .milliseconds(40))
            return order + (early ? [-1] : [])
        }
        #expect(order == [10, 20, 30])
    }

    @Test("an endless delay is a timer that never fires, and a negative one fires at once")
    func extremeDelays() async throws {
        try await onLoop { loop in
            let never = [Duration.seconds(Int64.max) * 9, .seconds(Int64.max), .nanoseconds(Int64.max)]
                .map { delay in loop.schedule(after: delay) { Issue.record("it fired after \(delay)") } }
            for delay in [Duration.seconds(Int64.min) * 9, .seconds(Int64.min), .zero - .nanoseconds(1)] {
                await loop.sleep(for: delay)
            }
            for timer in never { timer.cancel() }
        }
    }

    @Test("work posted from many threads all runs, on the loop")
    func posting() async throws {
        let loop = try EventLoop(name: "test")
        loop.start()
        let count = Locked(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<500 {
                        loop.post { if loop.isCurrent { count.withLock { $0 += 1 } } }
                    }
                }
            }
        }
        await loop.run {}
        loop.stop()
        loop.join()
        #expect(count.withLock { $0 } == 4_000)
    }

    @Test("end-of-turn work runs once, after the jobs of the turn")
    func endOfTurn() async throws {
        let log = try await onLoop { loop in
            var log: [String] = []
            loop.atEndOfTurn { log.append("end") }
            log.append("job")
            await loop.sleep(for: .milliseconds(1))
            await loop.sleep(for: .milliseconds(1))
            return log
        }
        #expect(log == ["job", "end"])
    }

    @Test("a quiet turn comes even while jobs never stop coming")
    func quietTurnUnderLoad() async throws {
        let came = try await onLoop { loop in
            let isDone = Locked(false)
            loop.spawn {
                await loop.quietTurn(for: .signature)
                isDone.withLock { $0 = true }
            }
            var turns = 0
            while !isDone.withLock({ $0 }), turns < 100_000 {
                turns += 1
                await Task.yield()
            }
            return isDone.withLock { $0 }
        }
        #expect(came)
    }

    @Test("names resolve off the loop; an unknown one has no address")
    func names() async throws {
        let found = try await onLoop { loop in
            (
                await NameResolver.addresses(of: "127.0.0.1", on: loop),
                await NameResolver.addresses(of: "no-such-host.invalid", on: loop)
            )
        }
        #expect(found.0 == ["127.0.0.1"])
        #expect(found.1 == [])
    }
}
