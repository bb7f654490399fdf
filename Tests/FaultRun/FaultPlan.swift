import Foundation

/// The phases of the fault plan, in its order.
package enum FaultPlan {
    package enum Reach: Sendable {
        /// - Parameter mayRefuse: whether 503 is an allowed answer meanwhile.
        case run(mayRefuse: Bool, inject: @Sendable (FaultWorld, Double) throws -> Int)
        case notYet(String)
    }

    package struct Phase: Sendable {
        package let name: String
        /// Of the run of 120 seconds.
        package let seconds: Double
        package let reach: Reach
    }

    package static let phases: [Phase] = [
        Phase(
            name: "quiet", seconds: 8,
            reach: .run(mayRefuse: false) { _, seconds in
                Thread.sleep(forTimeInterval: seconds)
                return 1
            }),
        Phase(
            name: "lost-answers", seconds: 6,
            reach: .run(mayRefuse: false) { world, seconds in
                world.cut(.dropAnswers(share: 0.2), for: seconds)
            }),
        Phase(
            name: "unsent", seconds: 4,
            reach: .run(mayRefuse: false) { world, seconds in
                world.cut(.dropRequests(share: 0.3), for: seconds / 2)
                    + world.cut(.halveAnswers(share: 0.3), for: seconds / 2)
            }),
        Phase(
            name: "lost-commit-ack", seconds: 5,
            reach: .run(mayRefuse: true) { world, seconds in
                world.cutDatabase(.dropUpdates(share: 0.2), for: seconds)
            }),
        Phase(
            name: "backends-terminated", seconds: 4,
            reach: .run(mayRefuse: true) { world, seconds in
                try world.terminateBackends(times: 4, within: seconds)
            }),
        Phase(
            name: "pg-crash", seconds: 5,
            reach: .run(mayRefuse: true) { world, seconds in
                try world.crashDatabase(for: seconds * 0.3)
            }),
        Phase(
            name: "pg-blackhole", seconds: 5,
            reach: .run(mayRefuse: true) { world, seconds in
                world.cutDatabase(.blackHole, for: seconds)
            }),
        Phase(
            name: "pg-refuse", seconds: 3,
            reach: .run(mayRefuse: true) { world, seconds in
                world.cutDatabase(.refuse, for: seconds)
            }),
        Phase(
            name: "read-only", seconds: 4,
            reach: .run(mayRefuse: true) { world, seconds in
                try world.makeReadOnly(for: seconds)
            }),
        Phase(
            name: "lock-held", seconds: 4,
            reach: .run(mayRefuse: true) { world, seconds in
                try world.holdLocks(for: max(1.5, seconds * 0.75))
            }),
        Phase(
            name: "deadlock-bait", seconds: 4,
            reach: .run(mayRefuse: true) { world, seconds in
                try world.crossWrites(for: seconds)
            }),
        Phase(
            name: "kill-9", seconds: 6,
            reach: .run(mayRefuse: true) { world, _ in try world.killServers() }),
        Phase(
            name: "rolling-restart", seconds: 6,
            reach: .run(mayRefuse: false) { world, _ in try world.rollServers() }),
        Phase(
            name: "pool-exhaustion", seconds: 6,
            reach: .run(mayRefuse: true) { world, seconds in
                try world.exhaustConnections(for: seconds * 0.5)
            }),
        Phase(
            name: "stopped", seconds: 5,
            reach: .run(mayRefuse: false) { world, seconds in
                world.pauseServer(for: min(2, seconds * 0.4))
            }),
        Phase(name: "key-rotation", seconds: 6, reach: .notYet("keys do not rotate by command yet")),
        Phase(
            name: "fd-limit", seconds: 5,
            reach: .run(mayRefuse: true) { world, seconds in
                try world.limitDescriptors(for: seconds * 0.6)
            }),
        Phase(
            name: "slow-clients", seconds: 4,
            reach: .run(mayRefuse: false) { world, seconds in
                world.sendSlowly(for: seconds)
            }),
        Phase(
            name: "overload", seconds: 4, reach: .run(mayRefuse: true) { world, seconds in world.flood(for: seconds) }),
        Phase(name: "clock", seconds: 4, reach: .notYet("the clock of a production server cannot be moved")),
        Phase(name: "disk", seconds: 4, reach: .notYet("no small file system can be mounted for a test")),
        Phase(
            name: "mixed", seconds: 4,
            reach: .run(mayRefuse: true) { world, seconds in
                world.setRelays(.dropAnswers(share: 0.2))
                defer { world.setRelays(.pass) }
                return try world.terminateBackends(times: 2, within: seconds)
            }),
        // Probed by the run itself once all phases are over.
        Phase(
            name: "settle-and-probe", seconds: 14,
            reach: .run(mayRefuse: false) { _, seconds in
                Thread.sleep(forTimeInterval: seconds * 0.25)
                return 1
            }),
    ]
}
