import AuthTesting
import Foundation
import Primitives

/// One run of the plan: a fleet that never stops refreshing, phase after phase of faults, probes at the end.
package struct FaultRun: Sendable {
    package let seconds: Double
    package let devices: Int

    package init(seconds: Double, seed: UInt64, devices: Int = 24) {
        self.seconds = seconds
        self.devices = devices
        SeededChance.seed(seed)
    }

    package struct Report: Sendable {
        package let history: History
        package let phases: [PhaseReport]
    }

    package struct PhaseReport: Sendable {
        package let name: String
        package let start: Double
        package let end: Double
        /// `nil` for a phase that is not reached yet.
        package let strikes: Int?
        package let note: String
    }

    package func run() throws -> Report {
        let world = try FaultWorld()
        defer { world.close() }
        let fleet = try makeFleet(world)
        let ended = DispatchGroup()
        for (index, device) in fleet.enumerated() {
            start(ended) {
                device.signIn()
                // Two that do not wait: they tell how soon a success is possible.
                if index < 2 {
                    device.live(pause: 0.15...0.25, waitsAsTold: false)
                } else {
                    device.live(pause: 0.6...1.6, waitsAsTold: true)
                }
            }
        }
        start(ended) { world.surroundings.pollKeySets() }
        Thread.sleep(forTimeInterval: 1)
        var phases: [PhaseReport] = []
        for phase in FaultPlan.phases {
            if phase.name == "slow-clients" { try revokeAndSteal(fleet, world) }
            phases.append(try run(phase, world))
        }
        world.surroundings.end()
        ended.wait()
        probe(fleet)
        return Report(history: world.surroundings.history, phases: phases)
    }

    private func start(_ group: DispatchGroup, _ body: @escaping @Sendable () -> Void) {
        group.enter()
        let thread = Thread {
            body()
            group.leave()
        }
        thread.stackSize = 1 << 20
        thread.start()
    }

    private func makeFleet(_ world: FaultWorld) throws -> [SimulatedDevice] {
        // Two devices for each user, so that one can end the other.
        var fleet: [SimulatedDevice] = []
        for index in 0..<(devices / 2) {
            let user = try world.site.tables.user()
            for half in 0..<2 {
                fleet.append(
                    SimulatedDevice(
                        world.surroundings, session: try world.site.tables.session(of: user).signed,
                        installation: "fleet-installation-\(index)-\(half)", hasKeys: index % 3 != 0))
            }
        }
        return fleet
    }

    private func run(_ phase: FaultPlan.Phase, _ world: FaultWorld) throws -> PhaseReport {
        let start = world.surroundings.now
        switch phase.reach {
        case .notYet(let why):
            return PhaseReport(name: phase.name, start: start, end: start, strikes: nil, note: why)
        case .run(let mayRefuse, let inject):
            let strikes = try inject(world, max(1, phase.seconds * seconds / 120))
            let end = world.surroundings.now
            world.surroundings.record(FaultWindow(phase.name, start: start, end: end, mayRefuse: mayRefuse))
            // Time to recover before the next one, as part of what is measured.
            Thread.sleep(forTimeInterval: max(1, seconds / 120 * 2))
            return PhaseReport(name: phase.name, start: start, end: end, strikes: strikes, note: "")
        }
    }

    /// The last devices of the fleet: two are ended by their owner's other device while they refresh, two are copied.
    private func revokeAndSteal(_ fleet: [SimulatedDevice], _ world: FaultWorld) throws {
        let count = fleet.count
        for victim in [count - 1, count - 3] { fleet[victim - 1].revoke(fleet[victim]) }
        for owner in [count - 6, count - 8] {
            guard let oldest = fleet[owner].tokens.first?.generation, fleet[owner].generation - oldest > 2 else {
                continue
            }
            _ = fleet[owner].presentCopy(ofGeneration: oldest, as: .thief)
        }
    }

    /// Per family that nobody attacked: the leaf works, an ancestor kills, the leaf is dead.
    private func probe(_ fleet: [SimulatedDevice]) {
        for device in fleet.dropLast(8) where !device.isOver && device.tokens.count > 4 {
            device.refresh(as: .leafProbe)
            guard let ancestor = device.tokens.first?.generation, device.generation - ancestor > 2 else { continue }
            _ = device.presentCopy(ofGeneration: ancestor, as: .ancestorProbe)
            device.refresh(as: .deadProbe)
        }
    }
}

extension FaultRun.Report {
    /// Each phase with its operations, refusals, recovery and times.
    package var table: String {
        var lines = ["phase                ops   200   503  lost  strikes  first-success  p50 ms  p99 ms"]
        for phase in phases {
            guard let strikes = phase.strikes else {
                lines.append(Self.padded(phase.name, 20) + " not reached: " + phase.note)
                continue
            }
            let during = history.operations.filter {
                $0.kind == .refresh && $0.start >= phase.start && $0.start < phase.end
            }
            let times = during.filter { $0.status == 200 }.map { ($0.end - $0.start) * 1_000 }.sorted()
            let next = history.operations.filter { $0.kind == .refresh && $0.status == 200 && $0.end > phase.end }
                .map { $0.end - phase.end }.min()
            let columns = [
                Self.padded("\(during.count)", 4), Self.padded("\(during.filter { $0.status == 200 }.count)", 5),
                Self.padded("\(during.filter { $0.status == 503 }.count)", 5),
                Self.padded("\(during.filter { $0.status == nil }.count)", 5), Self.padded("\(strikes)", 8),
                Self.padded(next.map { String(format: "%.3f s", $0) } ?? "-", 14),
                Self.padded(Self.percentile(times, 0.5), 7), Self.percentile(times, 0.99),
            ]
            lines.append(Self.padded(phase.name, 20) + " " + columns.joined(separator: " "))
        }
        let reasons = Dictionary(
            grouping: history.operations.filter { $0.status == 503 }, by: { $0.reason ?? "none" })
        lines.append("503 by reason: " + reasons.map { "\($0.key) \($0.value.count)" }.sorted().joined(separator: ", "))
        lines.append("operations: \(history.operations.count)")
        return lines.joined(separator: "\n")
    }

    private static func padded(_ text: String, _ width: Int) -> String {
        text.padding(toLength: max(width, text.count), withPad: " ", startingAt: 0)
    }

    private static func percentile(_ sorted: [Double], _ share: Double) -> String {
        guard !sorted.isEmpty else { return "-" }
        return String(format: "%.1f", sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))])
    }
}
