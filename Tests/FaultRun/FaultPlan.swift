import AuthTesting
import Foundation

/// The phases of the fault plan, in its order, and some of our own.
package enum FaultPlan {
    /// What a phase needs: the world, two lively families to lock, and its length in seconds.
    package struct Scene: Sendable {
        let world: FaultWorld
        let families: [String]
        let seconds: Double
    }

    package enum Reach: Sendable {
        /// - Parameter inject: breaks something, mends it, and returns how often it has struck.
        case run(excuses: FaultWindow.Excuses, inject: @Sendable (Scene) throws -> Int)
        case quiet
        case notYet(String)
    }

    package struct Phase: Sendable {
        package let name: String
        /// With the time to recover.
        package let seconds: Double
        package let reach: Reach
        /// Not in the plan that this follows.
        package var isOwn = false

        func lasting(_ seconds: Double) -> Phase {
            Phase(name: name, seconds: seconds, reach: reach, isOwn: isOwn)
        }
    }

    package enum Form: Sendable {
        /// All phases, in about this many seconds; the plan has 120.
        case long(seconds: Double)
        /// The plan's short form of 30 seconds.
        case short
    }

    package static func phases(_ form: Form) -> [Phase] {
        switch form {
        case .long(let seconds):
            return phases.map { $0.lasting($0.seconds * seconds / 120) }
        case .short:
            let lengths = [
                "quiet": 3.0, "lost-answers": 4, "lost-commit-ack": 4, "pg-crash": 5, "kill-9": 5,
                "settle-and-probe": 9,
            ]
            return phases.compactMap { phase in lengths[phase.name].map { phase.lasting($0) } }
        }
    }

    package static let phases: [Phase] = network + database + servers + rest

    private static func phase(
        _ name: String, _ seconds: Double, excuses: FaultWindow.Excuses = [],
        _ inject: @escaping @Sendable (Scene) throws -> Int
    ) -> Phase {
        Phase(name: name, seconds: seconds, reach: .run(excuses: excuses, inject: inject))
    }

    private static let network: [Phase] = [
        Phase(name: "quiet", seconds: 8, reach: .quiet),
        phase("lost-answers", 6, excuses: .lost) { $0.world.cut(.loseAnswers(share: 0.2), for: $0.seconds * 0.75) },
        phase("unsent", 4, excuses: .lost) {
            let half = $0.seconds * 0.4
            return $0.world.cut(.loseRequests(share: 0.3), for: half)
                + $0.world.cut(.halveAnswers(share: 0.3), for: half)
        },
    ]

    private static let database: [Phase] = [
        phase("lost-commit-ack", 5, excuses: .unavailable) {
            // The write itself is lost now and then too: the server cannot tell one from the other.
            let before = $0.world.cutDatabase(.loseRequests(share: 0.1), for: $0.seconds * 0.2)
            let after = $0.world.cutDatabase(.loseAnswers(share: 0.15), for: $0.seconds * 0.5)
            return after == 0 ? 0 : before + after
        },
        phase("backends-terminated", 4, excuses: .unavailable) {
            try $0.world.terminateBackends(times: 4, within: $0.seconds * 0.7)
        },
        phase("pg-crash", 5, excuses: .unavailable) { try $0.world.crashDatabase(for: min(1.5, $0.seconds * 0.3)) },
        phase("pg-blackhole", 5, excuses: .unavailable) { $0.world.cutDatabase(.blackHole, for: $0.seconds * 0.9) },
        phase("pg-refuse", 3, excuses: .unavailable) { $0.world.cutDatabase(.refuse, for: $0.seconds * 0.6) },
        phase("read-only", 4, excuses: .unavailable) { try $0.world.makeReadOnly(for: $0.seconds * 0.6) },
        phase("lock-held", 4, excuses: .unavailable) {
            try $0.world.holdLocks(of: $0.families, for: max(1.5, $0.seconds * 0.75))
        },
        phase("deadlock-bait", 4, excuses: .unavailable) {
            try $0.world.baitDeadlocks(of: $0.families, for: $0.seconds * 0.5)
        },
    ]

    private static let servers: [Phase] = [
        phase("kill-9", 6, excuses: [.lost, .unavailable]) { try $0.world.killServers(pause: $0.seconds * 0.2) },
        phase("rolling-restart", 6) { try $0.world.rollServers(pause: $0.seconds * 0.15) },
        phase("pool-exhaustion", 6, excuses: .unavailable) {
            try $0.world.exhaustConnections(for: max(0.8, $0.seconds * 0.35))
        },
        phase("stopped", 5, excuses: [.late, .lost]) { try $0.world.pauseServer(for: min(3, $0.seconds * 0.6)) },
        Phase(
            name: "postmaster-stopped", seconds: 4,
            reach: .run(excuses: .unavailable) { try $0.world.stopPostmaster(for: min(2, $0.seconds * 0.5)) },
            isOwn: true),
        // The lead is not shortened with the phase: it is what the resource server needs to know the key.
        phase("key-rotation", 6) { try $0.world.rotateKeys(lead: 6) },
        phase("fd-limit", 5, excuses: [.lost, .late, .unavailable]) {
            try $0.world.limitDescriptors(for: min(3, $0.seconds * 0.6))
        },
    ]

    private static let rest: [Phase] = [
        phase("slow-clients", 4) { $0.world.sendSlowly(for: $0.seconds * 0.8) },
        phase("overload", 4, excuses: .unavailable) { try $0.world.flood(for: $0.seconds * 0.7) },
        // What was issued before the clock goes back is from the future for two minutes.
        phase("clock", 4, excuses: .unavailable) {
            try $0.world.moveClock(by: -120)
            $0.world.rest($0.seconds / 3)
            try $0.world.moveClock(by: 300)
            $0.world.rest($0.seconds / 3)
            return $0.world.surroundings.count(since: $0.world.surroundings.now - $0.seconds / 3) { $0.status == 200 }
        },
        Phase(
            name: "skewed-clocks", seconds: 6,
            reach: .run(excuses: .unavailable) { try $0.world.skewClocks(for: $0.seconds * 0.7) }, isOwn: true),
        Phase(
            name: "odd-identity-row", seconds: 3,
            reach: .run(excuses: []) { try $0.world.makeRowOdd(for: $0.seconds * 0.7) }, isOwn: true),
        phase("disk", 4, excuses: .unavailable) { try $0.world.fillDisk(for: $0.seconds * 0.6) },
        phase("mixed", 4, excuses: [.lost, .unavailable]) { try mix($0) },
        Phase(name: "settle-and-probe", seconds: 14, reach: .quiet),
    ]

    /// Two of three faults at once, chosen by the seed.
    private static func mix(_ scene: Scene) throws -> Int {
        let world = scene.world
        let leftOut = Int(world.random.number(in: Int64(0)...2))
        if leftOut != 0 { for relay in world.relays { relay.mode = .loseAnswers(share: 0.2) } }
        defer { for relay in world.relays { relay.mode = .pass } }
        let ended = leftOut != 1 ? try world.terminateBackends(times: 2, within: scene.seconds * 0.3) : 1
        let killed = leftOut != 2 ? try world.killServers([1], pause: 0) : 1
        if leftOut == 2 { world.rest(scene.seconds * 0.3) }
        let lost = leftOut != 0 ? world.relays.reduce(0) { $0 + $1.takeStrikes() } : 1
        return min(ended, killed, lost) > 0 ? ended + killed + lost : 0
    }
}
