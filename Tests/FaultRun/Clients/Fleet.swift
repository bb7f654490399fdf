import AuthTesting
import Foundation

/// All devices of a run, two for each user, and what happens to some of them: the last are revoked by their user's other
/// device or copied by a thief, one after the other while the run goes on.
final class Fleet: Sendable {
    let devices: [SimulatedDevice]
    private let surroundings: Surroundings
    private let revocationsMax: Int
    private let theftsMax: Int

    /// - Parameter users: two devices each.
    init(
        _ surroundings: Surroundings, _ keySets: KeySetReader, users: Int, pause: ClosedRange<Double>,
        sleep: ClosedRange<Double>, seed: UInt64, makeSession: () throws -> (String, String)
    ) throws {
        self.surroundings = surroundings
        revocationsMax = users / 5
        theftsMax = users / 7
        var devices: [SimulatedDevice] = []
        for index in 0..<users {
            let sessions = try makeSession()
            for (half, session) in [sessions.0, sessions.1].enumerated() {
                var habits = SimulatedDevice.Habits()
                habits.hasKeys = index % 3 != 0
                habits.pause = pause
                // The first two do not wait, one sixth of the others are sleepers.
                if index == 0 {
                    habits.pause = 0.3...0.4
                    habits.waitsAsTold = false
                    habits.racingShare = 0
                } else if index % 6 == 1 + half {
                    habits.sleep = sleep
                }
                devices.append(
                    SimulatedDevice(
                        surroundings, keySets, session: session, installation: "fleet-installation-\(index)-\(half)",
                        habits: habits, seed: seed &+ UInt64(2 * index + half + 1) &* 0x1_0000_0001))
            }
        }
        self.devices = devices
    }

    /// Those that nobody touches.
    var untouched: ArraySlice<SimulatedDevice> { devices.dropLast(2 * (revocationsMax + theftsMax)) }

    /// Ends or robs one device of each pair at the end of the fleet, spread over `seconds`.
    func suffer(over seconds: Double) {
        let pairs = stride(from: devices.count - 2 * (revocationsMax + theftsMax), to: devices.count, by: 2).map {
            (devices[$0], devices[$0 + 1])
        }
        let pause = seconds / Double(pairs.count + 1)
        var thefts: [(SimulatedDevice, SimulatedDevice.StoredToken)] = []
        for (index, (first, second)) in pairs.enumerated() {
            if index < theftsMax {
                if let copy = second.newest { thefts.append((second, copy)) }
            } else {
                revoke(second, by: first)
            }
            surroundings.rest(pause)
            thefts.removeAll { presentStolen($1, from: $0) }
        }
        while !thefts.isEmpty, !surroundings.hasEnded {
            surroundings.rest(0.5)
            thefts.removeAll { presentStolen($1, from: $0) }
        }
    }

    /// While three of its refreshes are in flight.
    private func revoke(_ victim: SimulatedDevice, by owner: SimulatedDevice) {
        while !surroundings.hasEnded {
            let outcomes = try? HTTPClient.together(2) { index -> Bool in
                if index == 0 {
                    victim.refresh(copies: 3)
                    return false
                }
                usleep(1_000)
                return owner.revoke(victim)
            }
            if outcomes?.contains(true) == true { return }
            surroundings.rest(0.3)
        }
    }

    /// - Returns: whether the theft is over: the server gave a verdict. It takes three rotations of the owner before.
    private func presentStolen(_ copy: SimulatedDevice.StoredToken, from owner: SimulatedDevice) -> Bool {
        guard let newest = owner.newest, newest.generation >= copy.generation + 3 else { return owner.isOver }
        return ![nil, 429, 503].contains(owner.presentCopy(copy, as: .thief))
    }
}
