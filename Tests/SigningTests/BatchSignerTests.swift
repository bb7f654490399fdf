import AuthDomain
import AuthTesting
import Crypto
import Primitives
import Reactor
import Telemetry
import Testing

@testable import Signing

/// Notes every batch; fails or miscounts when told to.
private final class NotedEngine: SignatureEngine {
    struct Batch {
        let messages: [String]
        let loop: String?
    }

    let lanes: Int
    let batches = Locked<[Batch]>([])
    let failing = Locked<Set<String>>([])
    let isShort = Locked(false)

    init(lanes: Int = 1) {
        self.lanes = lanes
    }

    func sign(_ batch: [SignatureRequest]) throws(CryptoError) -> [[UInt8]] {
        let messages = batch.map { String(decoding: $0.message, as: UTF8.self) }
        batches.withLock { $0.append(Batch(messages: messages, loop: EventLoop.current?.name)) }
        if failing.withLock({ !$0.isDisjoint(with: messages) }) { throw .unavailable }
        return isShort.withLock { $0 } ? [] : batch.map { Array("signed ".utf8) + $0.message }
    }

    var messages: [[String]] { batches.withLock { $0.map(\.messages) } }
}

private final class Lines: LogSink {
    let written = Locked<[String]>([])

    func write(_ line: [UInt8]) { written.withLock { $0.append(String(decoding: line, as: UTF8.self)) } }
}

private func requests(_ messages: [String]) -> [SignatureRequest] {
    messages.map { SignatureRequest(key: FixedKeys.signing, message: Array($0.utf8)) }
}

/// What a caller got: the signed messages or the word for its failure.
private func outcome(_ signer: BatchSigner, _ messages: [String]) async -> [String] {
    do throws(Unavailability) {
        return try await signer.sign(requests(messages)).map { String(decoding: $0.dropFirst(7), as: UTF8.self) }
    } catch {
        return [error.rawValue]
    }
}

private func withLoop<Result: Sendable>(
    _ name: String = "test", _ body: @escaping @Sendable (EventLoop) async -> Result
) async throws -> Result {
    let loop = try EventLoop(name: name)
    loop.start()
    let result = await loop.run { await body(loop) }
    loop.stop()
    loop.join()
    return result
}

@Suite("Batch signer")
struct BatchSignerTests {
    @Test("signatures are RS256 of their messages, in the order asked for, on a loop and off one")
    func signatures() async throws {
        let signer = BatchSigner(logger: .disabled)
        let asked = [
            SignatureRequest(key: FixedKeys.signing, message: Array("a".utf8)),
            SignatureRequest(key: FixedKeys.refresh, message: Array("b".utf8)),
            SignatureRequest(key: FixedKeys.signing, message: []),
        ]
        let expected = try asked.map { try $0.key.sign($0.message) }
        #expect(try await signer.sign(asked) == expected)
        #expect(try await withLoop { _ in try? await signer.sign(asked) } == expected)
        #expect(try await signer.sign([]).isEmpty)
        #expect(try await withLoop { _ in try? await signer.sign([]) } == [])
    }

    @Test("many callers of one loop each get their own, first come first served, one a batch")
    func manyCallers() async throws {
        let engine = NotedEngine()
        let signer = BatchSigner(engine: engine, logger: .disabled)
        let outcomes = try await withLoop { _ in
            await withTaskGroup(of: (Int, [String]).self) { group in
                for caller in 0..<100 {
                    group.addTask { (caller, await outcome(signer, ["\(caller) access", "\(caller) refresh"])) }
                }
                return await group.reduce(into: [Int: [String]]()) { $0[$1.0] = $1.1 }
            }
        }
        #expect(outcomes.count == 100)
        for (caller, got) in outcomes { #expect(got == ["\(caller) access", "\(caller) refresh"]) }
        #expect(engine.messages == (0..<100).flatMap { [["\($0) access"], ["\($0) refresh"]] })
    }

    @Test("an engine with lanes gets the requests of several callers as one batch, in order")
    func lanes() async throws {
        let engine = NotedEngine(lanes: 8)
        let signer = BatchSigner(engine: engine, logger: .disabled)
        let outcomes = try await withLoop { _ in
            await withTaskGroup(of: [String].self) { group in
                for caller in 0..<5 { group.addTask { await outcome(signer, ["\(caller)a", "\(caller)b"]) } }
                return await group.reduce(into: Set<[String]>()) { $0.insert($1) }
            }
        }
        #expect(outcomes == Set((0..<5).map { ["\($0)a", "\($0)b"] }))
        #expect(engine.messages == [["0a", "0b", "1a", "1b", "2a", "2b", "3a", "3b"], ["4a", "4b"]])
        engine.batches.withLock { $0 = [] }
        #expect(await outcome(signer, (0..<10).map { "\($0)" }) == (0..<10).map { "\($0)" })
        #expect(engine.messages.map(\.count) == [8, 2])
    }

    @Test("each loop signs what it was asked for itself")
    func twoLoops() async throws {
        let engine = NotedEngine()
        let signer = BatchSigner(engine: engine, logger: .disabled)
        await withTaskGroup(of: Void.self) { group in
            for name in ["one", "two"] {
                group.addTask {
                    let isRight = try? await withLoop(name) { _ in
                        var isRight = true
                        for number in 0..<50 {
                            isRight = await outcome(signer, ["\(name) \(number)"]) == ["\(name) \(number)"] && isRight
                        }
                        return isRight
                    }
                    #expect(isRight == true)
                }
            }
        }
        let batches = engine.batches.withLock { $0 }
        #expect(batches.count == 100)
        #expect(batches.allSatisfy { batch in batch.loop.map { batch.messages[0].hasPrefix($0) } == true })
        for name in ["one", "two"] {
            #expect(batches.filter { $0.loop == name }.map { $0.messages[0] } == (0..<50).map { "\(name) \($0)" })
        }
    }

    @Test("more than the limit is busy at once; what was taken is signed, and then there is room again")
    func overload() async throws {
        let engine = NotedEngine()
        let signer = BatchSigner(engine: engine, logger: .disabled)
        let callers = Limits.pendingSignaturesMax / 2
        let (first, later) = try await withLoop { _ in
            let first = await withTaskGroup(of: [String].self) { group in
                for caller in 0..<(callers + 10) { group.addTask { await outcome(signer, ["\(caller)", "x"]) } }
                return await group.reduce(into: [[String]]()) { $0.append($1) }
            }
            return (first, await outcome(signer, ["later"]))
        }
        #expect(first.filter { $0 == ["busy"] }.count == 10)
        #expect(first.prefix(10).allSatisfy { $0 == ["busy"] })
        #expect(first.filter { $0.count == 2 }.count == callers)
        #expect(later == ["later"])
        #expect(engine.messages.count == Limits.pendingSignaturesMax + 1)
        let tooMany = (0...Limits.pendingSignaturesMax).map { "\($0)" }
        #expect(try await withLoop { _ in await outcome(signer, tooMany) } == ["busy"])
    }

    @Test("a reader goes on while a storm is signed")
    func reader() async throws {
        let signer = BatchSigner(logger: .disabled)
        let log = try await withLoop { loop in
            let log = Locked<[Character]>([])
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<40 {
                    group.addTask {
                        _ = await outcome(signer, ["a"])
                        log.withLock { $0.append("s") }
                    }
                }
                group.addTask {
                    // One step a turn, as of a connection that asks for the key set over and over.
                    while log.withLock({ $0.count(where: { $0 == "s" }) }) < 40 {
                        await withUnsafeContinuation { continuation in loop.post { continuation.resume() } }
                        log.withLock { $0.append("r") }
                    }
                }
            }
            return log.withLock { String($0) }
        }
        #expect(log.count(where: { $0 == "s" }) == 40)
        // A step for each signature, but for those that a busy machine let grow old.
        #expect(log.count(where: { $0 == "r" }) >= 20, "\(log)")
    }

    @Test("a failing engine is 'dependency' for its caller alone, and is logged; the queue goes on")
    func failing() async throws {
        let engine = NotedEngine()
        engine.failing.withLock { $0 = ["bad"] }
        let lines = Lines()
        let signer = BatchSigner(
            engine: engine, logger: Logger(level: .info, clock: TestClock(), sink: lines))
        let outcomes = try await withLoop { _ in
            await withTaskGroup(of: [String].self) { group in
                group.addTask { await outcome(signer, ["1", "2"]) }
                group.addTask { await outcome(signer, ["3", "bad", "never"]) }
                group.addTask { await outcome(signer, ["4"]) }
                return await group.reduce(into: Set<[String]>()) { $0.insert($1) }
            }
        }
        #expect(outcomes == [["1", "2"], ["dependency"], ["4"]])
        #expect(engine.messages == [["1"], ["2"], ["3"], ["bad"], ["4"]])
        let written = lines.written.withLock { $0 }
        #expect(written.count == 1)
        #expect(written.allSatisfy { $0.contains("\"error\"") && $0.contains("signing failed") })
        #expect(await outcome(signer, ["bad"]) == ["dependency"])
    }

    @Test("an engine that returns too few signatures hands out none of them")
    func short() async throws {
        let engine = NotedEngine(lanes: 4)
        engine.isShort.withLock { $0 = true }
        let lines = Lines()
        let clock = TestClock()
        let signer = BatchSigner(engine: engine, logger: Logger(level: .info, clock: clock, sink: lines))
        #expect(try await withLoop { _ in await outcome(signer, ["1", "2"]) } == ["dependency"])
        // One line in five seconds.
        clock.advance(by: .seconds(6))
        #expect(await outcome(signer, ["1", "2"]) == ["dependency"])
        #expect(lines.written.withLock { $0.count } == 2)
    }
}
