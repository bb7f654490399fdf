import AuthDomain
import AuthTesting
import Primitives
import Testing

/// Table 2.3 read anew, from a full history of rotations instead of a row: slow, without windows of kept keys, and
/// without a line of the product's.
private struct HistoryModel {
    struct Step {
        let generation: Int64
        let key: String?
        let at: Int64
    }

    /// The rotation that replaced each generation, oldest first; lost ones are missing.
    var rotations: [Step] = []
    var current: Int64 = 1
    var startedAt: Int64
    var endsAt: Int64
    var end: RefusalReason?

    func answer(_ presented: Int64, expiresAt: Int64, key: String?, now: Int64) -> RefreshDecision {
        if let end { return .ended(end) }
        if now >= expiresAt || now >= endsAt { return .expired }
        if presented >= current { return .rotate(to: presented + 1, isRestored: presented != current) }
        let last = rotations.last?.at ?? startedAt
        let own = rotations.last { $0.generation == presented }
        let isOwnKey = key != nil && own?.key == key
        switch current - presented {
        case 1 where isOwnKey: return .replay(.sameKey)
        case 1 where rotations.allSatisfy({ $0.key == nil }) && now - last <= 7 * 86_400_000_000:
            return .replay(.keyless)
        case 1...2 where now - last <= 10_000_000: return .replay(.concurrency)
        case 2...8 where isOwnKey: return .stale
        default: return .reused
        }
    }

    mutating func rotate(from presented: Int64, key: String?, now: Int64) {
        rotations.append(Step(generation: presented, key: key, at: now))
        current = presented + 1
    }
}

@Suite("Table 2.3 against a model that remembers everything")
struct RefreshDecisionModelTests {
    private static let windows = RotationWindows(replay: .days(7), concurrency: .seconds(10))
    private static let steps: [Int64] = [
        0, 1, 999_999, 9_999_999, 10_000_000, 10_000_001, 86_400_000_000, 604_800_000_000, 604_800_000_001,
    ]

    @Test("80 000 presentations in random histories are decided alike, and reach every row")
    func histories() throws {
        var counts: [String: Int] = [:]
        for seed in UInt64(1)...2_000 { try play(seed: seed, &counts) }
        for row in [
            "ended", "expired", "rotate", "restore", "sameKey", "keyless", "concurrency", "stale", "reused",
        ] {
            #expect(counts[row, default: 0] > 100, "\(row)")
        }
    }

    private func play(seed: UInt64, _ counts: inout [String: Int]) throws {
        let random = SeededRandom(seed: seed)
        var now: Int64 = 1_800_000_000_000_000
        var model = HistoryModel(startedAt: now, endsAt: now + 90 * 86_400_000_000)
        var state = RotationState(
            generation: 1, rotatedAt: Timestamp(microsecondsSinceEpoch: now), rotationKeys: [], hasSeenKey: false,
            expiresAt: Timestamp(microsecondsSinceEpoch: model.endsAt), end: nil)
        let usesKeys = random.chance(70)

        for _ in 0..<40 {
            now += random.element(of: Self.steps)
            let presented = max(1, model.current + random.number(in: random.chance(60) ? -2...0 : -10...2))
            let key = usesKeys && random.chance(70) ? random.element(of: keys(for: presented)) : nil
            let expiresAt = now + (random.chance(5) ? random.number(in: -1...1) : 86_400_000_000)
            if random.chance(1) {
                model.end = .signedOut
                state = state.ended(.signedOut)
            }
            let decision = RefreshDecision.decide(
                presented: presented, tokenExpiresAt: Timestamp(microsecondsSinceEpoch: expiresAt),
                keyHash: key.map { Array($0.utf8) }, state: state, windows: Self.windows,
                at: Timestamp(microsecondsSinceEpoch: now))
            let expected = model.answer(presented, expiresAt: expiresAt, key: key, now: now)
            try #require(
                decision == expected,
                "seed \(seed): presented \(presented) of \(model.current), key \(key ?? "-"), now \(now)")
            counts[Self.row(decision), default: 0] += 1
            if case .rotate(let generation, _) = decision {
                model.rotate(from: presented, key: key, now: now)
                state = state.rotated(to: generation, key: key, now: Timestamp(microsecondsSinceEpoch: now))
                #expect(state.rotationKeys.count <= Limits.rotationKeysKept)
            }
        }
    }

    private static func row(_ decision: RefreshDecision) -> String {
        switch decision {
        case .ended: "ended"
        case .expired: "expired"
        case .rotate(_, let isRestored): isRestored ? "restore" : "rotate"
        case .replay(let cause): "\(cause)"
        case .stale: "stale"
        case .reused: "reused"
        }
    }

    /// Its own key, mostly; sometimes that of a neighbour.
    private func keys(for generation: Int64) -> [String] {
        ["k-\(generation)", "k-\(generation)", "k-\(generation)", "k-\(generation - 1)", "k-\(generation + 1)"]
    }
}

extension RotationState {
    /// As the store has it after the product's own `Rotation`.
    fileprivate func rotated(to generation: Int64, key: String?, now: Timestamp) -> RotationState {
        let rotation = Rotation(
            sessionID: UUID(bytes: [UInt8](repeating: 0, count: 16)), state: self,
            issued: IssuedRefresh(generation: generation, kid: "k", issuedAt: now, expiresAt: now + .days(30)),
            keyHash: key.map { Array($0.utf8) }, isVerified: true, isRestored: false, at: now)
        return RotationState(
            generation: rotation.issued.generation, rotatedAt: rotation.rotatedAt,
            rotationKeys: rotation.rotationKeys, hasSeenKey: rotation.hasSeenKey, expiresAt: expiresAt, end: end)
    }

    fileprivate func ended(_ reason: RefusalReason) -> RotationState {
        RotationState(
            generation: generation, rotatedAt: rotatedAt, rotationKeys: rotationKeys, hasSeenKey: hasSeenKey,
            expiresAt: expiresAt, end: reason)
    }
}
