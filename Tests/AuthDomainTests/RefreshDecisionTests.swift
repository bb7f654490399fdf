import AuthDomain
import Primitives
import Testing

/// A row of table 2.3 as a test: the state and the request, both given by what differs from an ordinary one.
struct DecisionCase: CustomTestStringConvertible, Sendable {
    static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)
    static let windows = RotationWindows(replay: .days(7), concurrency: .seconds(10))

    let title: String
    var generation: Int64 = 20
    var presented: Int64 = 20
    var tokenExpiresAt = now + .days(1)
    var sessionExpiresAt = now + .days(60)
    /// How long ago the last rotation was.
    var age = Duration.hours(1)
    var key: String?
    /// Of the rotation of `generation - 1`, and further back.
    var keys: [String?] = []
    var hasSeenKey: Bool?
    var end: RefusalReason?
    let expected: RefreshDecision

    var testDescription: String { title }

    static func hash(_ text: String) -> [UInt8] { Array(text.utf8) }

    func decide() -> RefreshDecision {
        RefreshDecision.decide(
            presented: presented, tokenExpiresAt: tokenExpiresAt, keyHash: key.map(Self.hash),
            state: RotationState(
                generation: generation, rotatedAt: Self.now - age, rotationKeys: keys.map { $0.map(Self.hash) },
                hasSeenKey: hasSeenKey ?? keys.contains { $0 != nil }, expiresAt: sessionExpiresAt, end: end),
            windows: Self.windows, at: Self.now)
    }
}

@Suite("Table 2.3: what a refresh token gets")
struct RefreshDecisionTests {
    private static let now = DecisionCase.now
    private static let microsecond = Duration.microseconds(1)
    private static let eightKeys: [String?] = (1...8).map { "key-\($0)" }

    @Test("row 1: an ended device session answers with its stored reason", arguments: RefusalReason.allCases)
    func ended(reason: RefusalReason) {
        for presented in Int64(1)...30 {
            for expiry in [Self.now - .days(1), Self.now + .days(1)] {
                for key in ["key-1", nil] {
                    let found = DecisionCase(
                        title: "ended", presented: presented, tokenExpiresAt: expiry,
                        sessionExpiresAt: expiry + .days(1), age: .seconds(1), key: key, keys: Self.eightKeys,
                        end: reason, expected: .ended(reason)
                    ).decide()
                    #expect(found == .ended(reason))
                }
            }
        }
    }

    @Test("row 2: past the token's own or the absolute end is expired, whatever else is true, never reuse")
    func expired() {
        for presented in Int64(1)...30 {
            for key in ["key-1", nil] {
                for (token, session) in [(-1, 100), (0, 100), (100, -1), (100, 0), (0, 0), (-100, -100)] {
                    let found = DecisionCase(
                        title: "expired", presented: presented,
                        tokenExpiresAt: Self.now + .microseconds(token),
                        sessionExpiresAt: Self.now + .microseconds(session), age: .seconds(1), key: key,
                        keys: Self.eightKeys, expected: .expired
                    ).decide()
                    #expect(found == .expired)
                }
            }
        }
    }

    @Test(
        "rows 3 to 9",
        arguments: [
            DecisionCase(title: "3: the current one", expected: .rotate(to: 21, isRestored: false)),
            DecisionCase(
                title: "3: one microsecond of life left", tokenExpiresAt: now + microsecond,
                sessionExpiresAt: now + microsecond, expected: .rotate(to: 21, isRestored: false)),
            DecisionCase(
                title: "3: the current one, with the key of the rotation before", key: "key-1", keys: eightKeys,
                expected: .rotate(to: 21, isRestored: false)),
            DecisionCase(
                title: "3: the first", generation: 1, presented: 1, expected: .rotate(to: 2, isRestored: false)),
            DecisionCase(
                title: "4: its own key", presented: 19, age: .days(29), key: "key-1", keys: ["key-1"],
                expected: .replay(.sameKey)),
            DecisionCase(
                title: "4: its own key at once", presented: 19, age: .zero, key: "key-1", keys: ["key-1"],
                expected: .replay(.sameKey)),
            DecisionCase(
                title: "not 4: the key of the rotation before that", presented: 19, key: "key-2", keys: eightKeys,
                expected: .reused),
            DecisionCase(
                title: "not 4: a key of the same beginning", presented: 19, key: "key-1", keys: ["key-11"],
                expected: .reused),
            DecisionCase(
                title: "not 4: a key where that rotation had none", presented: 19, key: "key-1", keys: [nil, "key-1"],
                expected: .reused),
            DecisionCase(
                title: "5: nobody ever had a key", presented: 19, age: .days(6), keys: [nil],
                expected: .replay(.keyless)),
            DecisionCase(
                title: "5: nobody ever had a key, but this request", presented: 19, age: .days(6), key: "key-1",
                keys: [nil], expected: .replay(.keyless)),
            DecisionCase(
                title: "5: a microsecond before the window ends", presented: 19, age: .days(7) - microsecond,
                expected: .replay(.keyless)),
            DecisionCase(
                title: "5: as the window ends", presented: 19, age: .days(7), expected: .replay(.keyless)),
            DecisionCase(
                title: "not 5: a microsecond later", presented: 19, age: .days(7) + microsecond, expected: .reused),
            DecisionCase(
                title: "not 5: that rotation carried a key, the request has none", presented: 19, keys: ["key-1"],
                expected: .reused),
            DecisionCase(
                title: "not 5: a rotation long ago carried a key", presented: 19, keys: Array(repeating: nil, count: 8),
                hasSeenKey: true, expected: .reused),
            DecisionCase(title: "not 5: two behind", presented: 18, keys: [nil, nil], expected: .reused),
            DecisionCase(
                title: "6: one behind with another key", presented: 19, age: .seconds(10), key: "other",
                keys: ["key-1"], expected: .replay(.concurrency)),
            DecisionCase(
                title: "6: one behind without the key", presented: 19, age: .seconds(10) - microsecond,
                keys: ["key-1"], expected: .replay(.concurrency)),
            DecisionCase(
                title: "not 6: one behind, a microsecond late", presented: 19, age: .seconds(10) + microsecond,
                key: "other", keys: ["key-1"], expected: .reused),
            DecisionCase(
                title: "6: two behind", presented: 18, age: .seconds(10), expected: .replay(.concurrency)),
            DecisionCase(
                title: "6: two behind with its own key comes before 7", presented: 18, age: .seconds(10), key: "key-2",
                keys: eightKeys, expected: .replay(.concurrency)),
            DecisionCase(
                title: "6: our clock was set back", presented: 18, age: .seconds(-100), keys: eightKeys,
                expected: .replay(.concurrency)),
            DecisionCase(
                title: "not 6: two behind, a microsecond late", presented: 18, age: .seconds(10) + microsecond,
                expected: .reused),
            DecisionCase(title: "not 6: three behind", presented: 17, age: .zero, expected: .reused),
            DecisionCase(
                title: "7: two behind with its own key, late", presented: 18, age: .seconds(10) + microsecond,
                key: "key-2", keys: eightKeys, expected: .stale),
            DecisionCase(
                title: "7: three behind with its own key, at once", presented: 17, age: .zero, key: "key-3",
                keys: eightKeys, expected: .stale),
            DecisionCase(
                title: "7: eight behind with its own key", presented: 12, age: .days(29), key: "key-8",
                keys: eightKeys, expected: .stale),
            DecisionCase(
                title: "not 7: nine behind, the key is forgotten", presented: 11, key: "key-9", keys: eightKeys,
                expected: .reused),
            DecisionCase(
                title: "not 7: nine behind, though the row remembers more", presented: 11, key: "key-9",
                keys: eightKeys + ["key-9"], expected: .reused),
            DecisionCase(
                title: "not 7: the key of its neighbour", presented: 17, key: "key-2", keys: eightKeys,
                expected: .reused),
            DecisionCase(
                title: "not 7: no key", presented: 17, keys: eightKeys, expected: .reused),
            DecisionCase(
                title: "not 7: that rotation had none", presented: 17, key: "key-3",
                keys: ["key-1", "key-2", nil, "key-4"], expected: .reused),
            DecisionCase(title: "8: long ago", generation: .max - 1, presented: 1, age: .zero, expected: .reused),
            DecisionCase(
                title: "9: one above", presented: 21, expected: .rotate(to: 22, isRestored: true)),
            DecisionCase(
                title: "9: far above, with a key", presented: 2_000, key: "key-1", keys: eightKeys,
                expected: .rotate(to: 2_001, isRestored: true)),
            DecisionCase(
                title: "9: the largest there is", generation: 1, presented: .max - 1,
                expected: .rotate(to: .max, isRestored: true)),
        ])
    func row(row: DecisionCase) {
        #expect(row.decide() == row.expected)
    }

    @Test("without a key a generation further back than two is reuse at any time", arguments: Int64(3)...19)
    func behindWithoutKey(behind: Int64) {
        for age in [Duration.zero, .seconds(10), .days(7), .days(29)] {
            for keys in [[], Self.eightKeys] {
                let found = DecisionCase(
                    title: "", presented: 20 - behind, age: age, keys: keys, expected: .reused)
                #expect(found.decide() == .reused)
            }
        }
    }

    @Test("its own key saves a late duplicate from 2 to 8 generations back and no further", arguments: Int64(2)...12)
    func behindWithOwnKey(behind: Int64) {
        let keys: [String?] = (1...12).map { "key-\($0)" }
        let found = DecisionCase(
            title: "", presented: 20 - behind, key: "key-\(behind)", keys: keys, expected: .stale)
        #expect(found.decide() == (behind <= 8 ? .stale : .reused))
    }
}
