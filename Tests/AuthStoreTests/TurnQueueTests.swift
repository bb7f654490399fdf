import AuthDomain
import AuthTesting
import Primitives
import Reactor
import Testing

@testable import AuthStore

@Suite("Turns at the write connections")
struct TurnQueueTests {
    private func owner(_ user: String, _ device: String? = "phone") -> WriteOwner {
        WriteOwner(userID: user, device: device)
    }

    @Test("a device holds two places and a user four, over all loops, whatever is free")
    func bounds() {
        var queue = TurnQueue<Int>(lanes: 3, places: 8)
        let entries = (0..<6).map { queue.enter(owner("ada"), lane: $0 % 3, $0) }
        #expect(entries == [.granted, .granted, .waiting(1), .waiting(2), .waiting(3), .waiting(4)])
        let others = (0..<6).map { queue.enter(owner("ada", "tablet \($0)"), lane: $0 % 3, 10 + $0) }
        #expect(others == [.granted, .granted, .waiting(5), .waiting(6), .waiting(7), .waiting(8)])
        #expect(queue.enter(owner("ada", nil), lane: 0, 20) == .waiting(9))
        #expect(queue.enter(owner("grace"), lane: 0, 30) == .granted)
        // In order: the phone's next request, and then a tablet's, while the phone holds two.
        #expect(queue.leave(owner("ada"), lane: 0) == [3])
        #expect(queue.leave(owner("ada", "tablet 0"), lane: 0) == [13])
    }

    @Test("60 requests of one device cost another user one turn at most, where first come first served costs 58")
    func fairness() {
        var queue = TurnQueue<String>(lanes: 1, places: 3)
        for index in 0..<60 { _ = queue.enter(owner("ada"), lane: 0, "ada \(index)") }
        for user in ["grace", "edsger", "barbara"] { _ = queue.enter(owner(user), lane: 0, user) }
        var order = queue.leave(owner("ada"), lane: 0)
        order += queue.leave(owner("grace"), lane: 0)
        order += queue.leave(owner("ada"), lane: 0)
        #expect(order == ["ada 2", "edsger", "barbara"])
    }

    @Test("users take turns, each of them in order, and everybody gets through")
    func turns() {
        var queue = TurnQueue<(user: String, index: Int)>(lanes: 1, places: 1)
        _ = queue.enter(owner("first"), lane: 0, (user: "first", index: 0))
        for (user, count) in [("ada", 5), ("grace", 2), ("edsger", 3)] {
            for index in 0..<count { _ = queue.enter(owner(user), lane: 0, (user: user, index: index)) }
        }
        var order: [String] = []
        var holder = "first"
        while let next = queue.leave(owner(holder), lane: 0).first {
            order.append("\(next.user) \(next.index)")
            holder = next.user
        }
        #expect(
            order == [
                "ada 0", "grace 0", "edsger 0", "ada 1", "grace 1", "edsger 1", "ada 2", "edsger 2", "ada 3", "ada 4",
            ])
        #expect(queue.isEmpty)
    }

    @Test("128 of a user wait, the next is turned away, and other users are not")
    func crowded() {
        var queue = TurnQueue<Int>(lanes: 2, places: 3)
        let entries = (0..<131).map { queue.enter(owner("ada"), lane: $0 % 2, $0) }
        #expect(entries[..<2].allSatisfy { $0 == .granted })
        #expect(entries[2..<130].allSatisfy { if case .waiting = $0 { true } else { false } })
        #expect(entries[130] == .crowded)
        #expect(queue.enter(owner("grace"), lane: 0, 0) == .granted)
        #expect(queue.leave(owner("ada"), lane: 0) == [2])
        if case .waiting = queue.enter(owner("ada"), lane: 0, 0) {} else { Issue.record("there is room again") }
    }

    @Test("a request that gives up leaves no trace, and one that has its turn cannot")
    func givesUp() {
        var queue = TurnQueue<Int>(lanes: 1, places: 1)
        _ = queue.enter(owner("ada"), lane: 0, 1)
        #expect(queue.enter(owner("grace"), lane: 0, 2) == .waiting(1))
        #expect(queue.enter(owner("edsger"), lane: 0, 3) == .waiting(2))
        #expect(queue.giveUp(1, of: owner("grace"), lane: 0) == 2)
        #expect(queue.giveUp(1, of: owner("grace"), lane: 0) == nil)
        #expect(queue.leave(owner("ada"), lane: 0) == [3])
        #expect(queue.giveUp(2, of: owner("edsger"), lane: 0) == nil)
        #expect(queue.leave(owner("edsger"), lane: 0) == [])
        #expect(queue.isEmpty)
    }

    @Test("by chance: no bound is ever exceeded, no place is left free beside a request that may have it, none is lost")
    func byChance() {
        var random = SeededGenerator(seed: 7)
        var queue = TurnQueue<Int>(lanes: 3, places: 3)
        var held: [(owner: WriteOwner, lane: Int)] = []
        var waiting: [Int: (owner: WriteOwner, lane: Int)] = [:]
        func mayHold(_ owner: WriteOwner, _ lane: Int) -> Bool {
            held.filter { $0.lane == lane }.count < 3 && held.filter { $0.owner.userID == owner.userID }.count < 4
                && held.filter { $0.owner == owner }.count < 2
        }
        for id in 0..<4_000 {
            if Bool.random(using: &random) || held.isEmpty {
                let one = owner(
                    "user \(Int.random(in: 0..<5, using: &random))", "\(Int.random(in: 0..<3, using: &random))")
                let lane = Int.random(in: 0..<3, using: &random)
                let may = mayHold(one, lane)
                switch queue.enter(one, lane: lane, id) {
                case .granted:
                    #expect(may)
                    held.append((one, lane))
                case .waiting:
                    #expect(!may)
                    waiting[id] = (one, lane)
                case .crowded: Issue.record("not so many")
                }
            } else {
                let gone = held.remove(at: Int.random(in: held.indices, using: &random))
                for next in queue.leave(gone.owner, lane: gone.lane) {
                    guard let request = waiting.removeValue(forKey: next) else {
                        Issue.record("granted twice")
                        return
                    }
                    #expect(mayHold(request.owner, request.lane))
                    held.append(request)
                }
                #expect(waiting.values.allSatisfy { !mayHold($0.owner, $0.lane) })
            }
        }
        while let gone = held.popLast() {
            for next in queue.leave(gone.owner, lane: gone.lane) {
                if let request = waiting.removeValue(forKey: next) { held.append(request) }
            }
        }
        #expect(waiting.isEmpty && queue.isEmpty)
    }

    /// A generator of the standard library's kind.
    private struct SeededGenerator: RandomNumberGenerator {
        var state: UInt64

        init(seed: UInt64) { state = seed }

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var value = state
            value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
            value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
            return value ^ (value >> 31)
        }
    }
}

@Suite("Turns of the event loops of a process")
struct SharedTurnsTests {
    @Test("a turn that one loop gives back is taken on another one, and one that does not come in time is busy")
    func acrossLoops() async throws {
        let loops = [try EventLoop(name: "one"), try EventLoop(name: "two")]
        for loop in loops { loop.start() }
        let turns = SharedTurns(loops: loops, places: 4)
        let owner = WriteOwner(userID: "ada", device: "phone")
        let begin = { @Sendable (loop: EventLoop) async -> AuthFailure? in
            await loop.run {
                do throws(AuthFailure) {
                    try await turns.begin(owner)
                    return nil
                } catch {
                    return error
                }
            }
        }
        #expect(await begin(loops[0]) == nil)
        #expect(await begin(loops[1]) == nil)
        async let third = begin(loops[1])
        await loops[0].run { await loops[0].sleep(for: .milliseconds(20)) }
        await loops[0].run { turns.end(owner) }
        #expect(await third == nil)
        #expect(await begin(loops[0]) == .unavailable(.busy))
        await loops[1].run { turns.end(owner) }
        #expect(await begin(loops[0]) == nil)
        for loop in loops {
            loop.stop()
            loop.join()
        }
    }
}
