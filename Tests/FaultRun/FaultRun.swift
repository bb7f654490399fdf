import AuthTesting
import Foundation
import Primitives

/// One run of the plan: a fleet that never stops refreshing, phase after phase of faults, probes at the end.
package struct FaultRun: Sendable {
    package let form: FaultPlan.Form
    package let seed: UInt64
    package let program: String?

    /// - Parameter program: the path of the `sallyport` to run; `nil` is the one of this build.
    package init(_ form: FaultPlan.Form, seed: UInt64, program: String? = nil) {
        self.form = form
        self.seed = seed
        self.program = program
    }

    package func run(_ tell: @escaping @Sendable (String) -> Void = { _ in }) throws -> FaultReport {
        let world = try FaultWorld(program: program, seed: seed)
        defer { world.close() }
        let keySets = KeySetReader(world.surroundings) { world.serving }
        let fleet = try makeFleet(world, keySets)
        let ended = DispatchGroup()
        for device in fleet.devices {
            start(ended) {
                device.signIn()
                device.live()
            }
        }
        waitUntil(limit: .seconds(20)) { fleet.devices.allSatisfy(\.isSignedIn) }
        let background = Background(surroundings: world.surroundings, keySets: keySets, seed: seed) {
            try world.site.tables.signIn().signed
        }
        start(ended) { keySets.run() }
        start(ended) { background.sendRubbish() }
        start(ended) { background.signIn() }
        let phases = FaultPlan.phases(form)
        let length = phases.reduce(0) { $0 + $1.seconds }
        start(ended) { fleet.suffer(over: length * 0.7) }

        var reports: [FaultReport.Phase] = []
        var footprints: [String] = []
        for phase in phases {
            if phase.name == "settle-and-probe" {
                reports.append(settle(phase, world, fleet, keySets, ended))
            } else {
                reports.append(try run(phase, world, fleet))
            }
            reports.last.map { tell($0.name + " is over") }
            if [0, phases.count - 1].contains(reports.count - 1) { footprints.append(world.footprint) }
        }
        world.surroundings.record(try world.sessionRows())
        return FaultReport(
            seed: seed, history: world.surroundings.history, phases: reports, footprints: footprints)
    }

    private func makeFleet(_ world: FaultWorld, _ keySets: KeySetReader) throws -> Fleet {
        let tables = world.site.tables
        let isShort = if case .short = form { true } else { false }
        return try Fleet(
            world.surroundings, keySets, users: isShort ? 20 : 30, pause: isShort ? 1.2...3 : 1.5...4,
            sleep: isShort ? 8...14 : 30...60, seed: seed
        ) {
            let user = try tables.user()
            return (try tables.session(of: user).signed, try tables.session(of: user).signed)
        }
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

    private func run(_ phase: FaultPlan.Phase, _ world: FaultWorld, _ fleet: Fleet) throws -> FaultReport.Phase {
        let surroundings = world.surroundings
        let start = surroundings.now
        switch phase.reach {
        case .notYet(let why):
            return FaultReport.Phase(
                name: phase.name, start: start, faultEnd: start, end: start, outcome: .notReached(why))
        case .quiet:
            world.rest(phase.seconds)
            return FaultReport.Phase(
                name: phase.name, start: start, faultEnd: surroundings.now, end: surroundings.now, outcome: .quiet)
        case .run(let excuses, let inject):
            let families = fleet.devices.prefix(5).map(\.family)
            let strikes = try inject(FaultPlan.Scene(world: world, families: families, seconds: phase.seconds))
            let faultEnd = surroundings.now
            surroundings.record(FaultWindow(phase.name, start: start, end: faultEnd, excuses: excuses))
            recover(since: faultEnd, surroundings)
            world.rest(max(0.5, start + phase.seconds - surroundings.now))
            return FaultReport.Phase(
                name: phase.name, start: start, faultEnd: faultEnd, end: surroundings.now,
                outcome: .struck(strikes))
        }
    }

    /// The next fault waits for the first success after this one, for so long as the checker will not have it anyway.
    private func recover(since time: Double, _ surroundings: Surroundings) {
        waitUntil(limit: .seconds(6)) {
            usleep(20_000)
            return surroundings.count(since: time) { $0.kind == .refresh && $0.status == 200 } > 0
        }
    }

    /// Two seconds of quiet load; then all is still, and per family that nobody attacked: the leaf works, an ancestor
    /// kills, the leaf is dead.
    private func settle(
        _ phase: FaultPlan.Phase, _ world: FaultWorld, _ fleet: Fleet, _ keySets: KeySetReader, _ ended: DispatchGroup
    ) -> FaultReport.Phase {
        let start = world.surroundings.now
        world.rest(max(2, phase.seconds - 5))
        world.surroundings.end()
        ended.wait()
        for device in fleet.untouched where !device.isOver { device.refresh(as: .leafProbe) }
        // The window for racers has to pass.
        world.rest(2.5)
        for device in fleet.untouched where !device.isOver {
            guard let ancestor = device.oldest, let newest = device.newest,
                newest.generation - ancestor.generation > 2
            else { continue }
            _ = device.presentCopy(ancestor, as: .ancestorProbe)
            device.refresh(as: .deadProbe)
        }
        keySets.holdAll()
        let end = world.surroundings.now
        return FaultReport.Phase(name: phase.name, start: start, faultEnd: end, end: end, outcome: .quiet)
    }
}
