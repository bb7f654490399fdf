import Primitives
import Testing

@testable import AuthDomain

@Suite("Rotation: what the row remembers")
struct RotationTests {
    private static let now = Timestamp(secondsSinceEpoch: 1_800_000_000)

    private func state(_ generation: Int64, keys: [UInt8?] = [], hasSeenKey: Bool = false) -> RotationState {
        RotationState(
            generation: generation, rotatedAt: Self.now, rotationKeys: keys.map { $0.map { [$0] } },
            hasSeenKey: hasSeenKey, expiresAt: Self.now + .days(90), end: nil)
    }

    private func rotation(_ state: RotationState, to generation: Int64, key: UInt8?) -> Rotation {
        let issued = IssuedRefresh(
            generation: generation, kid: "k", issuedAt: Self.now, expiresAt: Self.now + .days(30))
        return Rotation(
            sessionID: UUID(bytes: [UInt8](repeating: 1, count: 16)), state: state, issued: issued,
            keyHash: key.map { [$0] }, isVerified: true, isRestored: false, at: Self.now)
    }

    @Test("a rotation puts its key in front and keeps eight")
    func history() {
        var state = state(1)
        for generation in Int64(2)...20 {
            let key: UInt8? = generation % 3 == 0 ? nil : UInt8(generation)
            let rotation = rotation(state, to: generation, key: key)
            #expect(rotation.expectedGeneration == generation - 1)
            #expect(rotation.rotationKeys.first == .some(key.map { [$0] }))
            #expect(rotation.rotationKeys.count == min(8, Int(generation) - 1))
            state = RotationState(
                generation: generation, rotatedAt: Self.now, rotationKeys: rotation.rotationKeys,
                hasSeenKey: rotation.hasSeenKey, expiresAt: state.expiresAt, end: nil)
            for behind in Int64(1)...8 where generation - behind >= 1 {
                let rotatedTo = generation - behind + 1
                #expect(state.key(thatRotated: generation - behind) == (rotatedTo % 3 == 0 ? nil : [UInt8(rotatedTo)]))
            }
        }
        #expect(state.key(thatRotated: 11) == nil)
        #expect(state.key(thatRotated: 20) == nil)
        #expect(state.key(thatRotated: 21) == nil)
    }

    @Test("once a rotation carried a key, the row never forgets that one did")
    func seenKey() {
        #expect(!rotation(state(1), to: 2, key: nil).hasSeenKey)
        #expect(rotation(state(1), to: 2, key: 7).hasSeenKey)
        #expect(
            rotation(state(20, keys: Array(repeating: nil, count: 8), hasSeenKey: true), to: 21, key: nil).hasSeenKey)
    }

    private static let catchUps: [(presented: Int64, kept: [UInt8?])] = [
        (5, [9, nil, 3, 2, 1]), (6, [9, nil, nil, 3, 2, 1]), (7, [9, nil, nil, nil, 3, 2, 1]),
        (12, [9, nil, nil, nil, nil, nil, nil, nil]), (.max - 1, [9, nil, nil, nil, nil, nil, nil, nil]),
    ]

    @Test("a catch-up leaves the lost rotations without keys, and what is known keeps its place", arguments: catchUps)
    func catchUp(presented: Int64, expected: [UInt8?]) {
        let rotation = rotation(state(4, keys: [3, 2, 1], hasSeenKey: true), to: presented + 1, key: 9)
        #expect(rotation.rotationKeys == expected.map { $0.map { [$0] } })
        #expect(rotation.expectedGeneration == 4)
    }

    private static let lifetimes: [(microseconds: Int64, secondsToEnd: Int64, expected: Int64)] = [
        (0, 7_776_000, 2_592_000), (999_999, 7_776_000, 2_592_000), (0, 2_592_000, 2_592_000),
        (0, 2_591_999, 2_591_999), (500_000, 1, 1),
    ]

    @Test("a refresh token lasts for its lifetime in whole seconds, never past the absolute end", arguments: lifetimes)
    func issue(microseconds: Int64, secondsToEnd: Int64, expectedLifetime: Int64) {
        let issued = IssuedRefresh.make(
            generation: 1, kid: "k", lifetime: .days(30), sessionEnd: Self.now + .seconds(secondsToEnd),
            at: Self.now + .microseconds(microseconds))
        #expect(issued.issuedAt == Self.now)
        #expect(issued.expiresAt == Self.now + .seconds(expectedLifetime))
    }
}
