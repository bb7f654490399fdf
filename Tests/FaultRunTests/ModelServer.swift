import AuthTesting
import FaultRun

/// A server that follows the contract, or one with one planted bug, with a fleet on it, in virtual time. The same seed and
/// bug make the same history.
struct ModelServer {
    enum Bug: String, CaseIterable, Sendable {
        /// A replay of the parent is reuse at once.
        case noGrace
        /// Two that race get a token each.
        case forkByRace
        /// Each replay of the parent rotates once more.
        case freshSuccessor
        /// An outage is answered as if the session were unknown.
        case unknownWhenDown
        case noRetryAfter
        /// The answer leaves, the commit is lost.
        case answerBeforeCommit
        /// A rotation in flight brings a revoked family back.
        case revokeRace
        case noReuseDetection
        /// A theft ends the families of others too.
        case wideRevocation
        /// 503 for good after an outage.
        case stuckAfterFailover
        case unpublishedKey
        case unrotated
        case statusFiveHundred
        case slow
        case keySetNeedsDatabase
        case silent
    }

    private struct Family {
        var tokens = ["0"]
        var rotatedAt = 0.0
        var end: String?
        var restorations: Int64 = 0

        var generation: Int { tokens.count - 1 }
    }

    private struct Answer {
        var status: Int
        var generation: Int?
        var token: String?
        var reason: String?
    }

    let bug: Bug?
    private let random: SeededRandom
    private var families: [String: Family] = [:]
    private var history = History()
    private static let window = 2.0
    private static let outages = [(20.0, 23.0), (50.0, 52.5)]
    private static let length = 90.0

    init(_ bug: Bug?, seed: UInt64) {
        self.bug = bug
        random = SeededRandom(seed: seed)
    }

    static func history(_ bug: Bug?, seed: UInt64) -> History {
        var server = ModelServer(bug, seed: seed)
        server.run()
        return server.history
    }

    // MARK: The fleet

    private struct Device {
        let family: String
        /// As it has stored them.
        var stored = [(generation: 0, token: "0")]
        var isOver = false
        var next: Double

        var newest: (generation: Int, token: String) { stored[stored.count - 1] }
    }

    private mutating func run() {
        for (start, end) in Self.outages {
            history.faults.append(FaultWindow("outage at \(start)", start: start, end: end, excuses: .unavailable))
        }
        history.faults.append(FaultWindow("losses", start: 5, end: 60, excuses: .lost))
        var devices = (0..<20).map { index in
            families["f\(index)"] = Family()
            return Device(family: "f\(index)", next: seconds(0.1...3))
        }
        var time = 0.0
        while let index = devices.indices.filter({ !devices[$0].isOver }).min(by: {
            devices[$0].next < devices[$1].next
        }),
            devices[index].next < Self.length
        {
            time = max(time, devices[index].next)
            if random.chance(10) { askForKeys(at: time) }
            switch index {
            case 3 where time > 40: revoke(&devices[index], at: time)
            case 7 where time > 65: rob(&devices[index], at: time)
            default: refresh(&devices[index], at: time)
            }
        }
        for index in devices.indices where !devices[index].isOver { probe(&devices[index]) }
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            history.rows.append(
                SessionRow(
                    family: name, generation: Int64(family.generation), endReason: family.end,
                    restorations: family.restorations))
        }
    }

    private func seconds(_ range: ClosedRange<Double>) -> Double {
        range.lowerBound + (range.upperBound - range.lowerBound) * Double(random.number(in: Int64(0)...10_000)) / 10_000
    }

    private mutating func refresh(_ device: inout Device, at time: Double) {
        let newest = device.newest
        // Racers are decided one after the other on what each of them has read.
        let snapshot = families[device.family]
        let copies = random.chance(20) ? 3 : 1
        var isAnswered = false
        for copy in 0..<copies {
            let isLost = (5.0...59).contains(time) && random.chance(8)
            let seen = bug == .forkByRace && copy > 0 ? snapshot : nil
            let answer = present(newest, of: device.family, .owner, at: time, isLost: isLost, seen: seen)
            guard let answer else { continue }
            if let generation = answer.generation, let token = answer.token {
                isAnswered = true
                if generation > device.newest.generation { device.stored.append((generation, token)) }
            } else if answer.status == 400 {
                device.isOver = true
            }
        }
        device.next = time + (isAnswered ? seconds(1.5...4) : seconds(0.2...1))
    }

    private mutating func revoke(_ device: inout Device, at time: Double) {
        var operation = Operation(.revoke, .owner, family: device.family, start: time, end: time + 0.01)
        operation.status = 204
        history.operations.append(operation)
        families[device.family]?.end = bug == .revokeRace ? nil : "device_revoked"
        _ = present(device.newest, of: device.family, .owner, at: time + 0.02)
        device.isOver = true
    }

    private mutating func rob(_ device: inout Device, at time: Double) {
        guard device.stored.count > 4 else { return }
        _ = present(device.stored[device.stored.count - 4], of: device.family, .thief, at: time)
        if bug == .wideRevocation {
            for name in families.keys where families[name]?.end == nil { families[name]?.end = "session_revoked" }
        }
        _ = present(device.newest, of: device.family, .owner, at: time + 0.1)
        device.isOver = true
    }

    private mutating func probe(_ device: inout Device) {
        guard device.stored.count > 4, let ancestor = device.stored.dropLast(3).last else { return }
        let leaf = present(device.newest, of: device.family, .leafProbe, at: Self.length + 5)
        _ = present(ancestor, of: device.family, .ancestorProbe, at: Self.length + 10)
        guard let generation = leaf?.generation, let token = leaf?.token else { return }
        _ = present((generation, token), of: device.family, .deadProbe, at: Self.length + 11)
    }

    private mutating func askForKeys(at time: Double) {
        var operation = Operation(.keySet, .verifier, family: "key set", start: time, end: time + 0.005)
        operation.status = bug == .keySetNeedsDatabase && isDown(time) ? 503 : 200
        history.operations.append(operation)
    }

    // MARK: The server

    private func isDown(_ time: Double) -> Bool { Self.outages.contains { $0.0 <= time && time < $0.1 } }

    /// - Returns: `nil` where the answer was lost.
    private mutating func present(
        _ presented: (generation: Int, token: String), of family: String, _ actor: Operation.Actor, at time: Double,
        isLost: Bool = false, seen: Family? = nil
    ) -> Answer? {
        var operation = Operation(
            .refresh, actor, family: family, presentedGeneration: Int64(presented.generation), start: time,
            end: time + (bug == .slow && random.chance(1) ? 5 : seconds(0.002...0.02)))
        let answer = decide(presented, of: family, at: time, seen: seen)
        let isSilent = bug == .silent && time > 70 && random.chance(3)
        if !isLost, !isSilent {
            operation.status = answer.status
            operation.reason = answer.reason
            operation.action = answer.reason.map { _ in "lock" }
            if answer.status == 503 { operation.retryAfter = bug == .noRetryAfter ? nil : 1 }
            operation.generation = answer.generation.map { Int64($0) }
            operation.tokenHash = answer.token
            if answer.status == 200 { operation.isVerified = !(bug == .unpublishedKey && random.chance(2)) }
        }
        history.operations.append(operation)
        return isLost || isSilent ? nil : answer
    }

    private mutating func decide(
        _ presented: (generation: Int, token: String), of name: String, at time: Double, seen: Family?
    ) -> Answer {
        guard let family = families[name] else { return refused("session_unknown") }
        if isDown(time) || (bug == .stuckAfterFailover && time > 50) {
            if bug == .unknownWhenDown { return refused("session_unknown") }
            return Answer(status: 503, reason: "dependency")
        }
        if bug == .statusFiveHundred, random.chance(1) { return Answer(status: 500) }
        if let end = family.end { return refused(end) }
        if bug == .unrotated, random.chance(3) {
            return Answer(status: 200, generation: presented.generation, token: presented.token)
        }
        let behind = (seen ?? family).generation - presented.generation
        if behind <= 0 {
            return rotate(name, presented.generation, at: time, isRestored: behind < 0, isRace: seen != nil)
        }
        if bug == .noGrace { return end(name) }
        if behind == 1, bug == .freshSuccessor {
            return rotate(name, family.generation, at: time, isRestored: false, isRace: false)
        }
        if behind == 1 || (behind == 2 && time - family.rotatedAt <= Self.window) || bug == .noReuseDetection {
            return Answer(status: 200, generation: family.generation, token: family.tokens.last)
        }
        return end(name)
    }

    private mutating func rotate(
        _ name: String, _ from: Int, at time: Double, isRestored: Bool, isRace: Bool
    ) -> Answer {
        let token = isRace ? "\(from + 1) again \(random.next())" : "\(from + 1) \(Int(time * 1_000))"
        let answer = Answer(status: 200, generation: from + 1, token: token)
        // A crash between the answer and its commit.
        if bug == .answerBeforeCommit, random.chance(1) { return answer }
        if isRestored { families[name]?.restorations += 1 }
        guard !isRace else { return answer }
        while let count = families[name]?.tokens.count, count <= from { families[name]?.tokens.append("lost") }
        families[name]?.tokens.append(token)
        families[name]?.rotatedAt = time
        return answer
    }

    private mutating func end(_ name: String) -> Answer {
        families[name]?.end = "refresh_reused"
        return refused("refresh_reused")
    }

    private func refused(_ reason: String) -> Answer { Answer(status: 400, reason: reason) }
}
