import FaultRun
import Foundation
import Testing

@Suite("Fault run", .serialized)
struct FaultRunTests {
    /// Seconds of a run, from the environment: it wants the machine for itself, so that `scripts/test` runs it before
    /// the other tests and a plain `swift test` does not.
    private static let seconds = ProcessInfo.processInfo.environment["FAULT_SECONDS"].flatMap { Double($0) }

    @Test("no family is lost, forked or revived, whatever breaks", .enabled(if: seconds != nil))
    func run() throws {
        let seconds = try #require(Self.seconds)
        let seed =
            ProcessInfo.processInfo.environment["FAULT_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...999_999)
        let form = seconds < 60 ? FaultPlan.Form.short : .long(seconds: seconds)
        let report = try FaultRun(form, seed: seed).run()
        print(report.table)
        // A run among the tests shares its machine with a build more often than not.
        let violations = RotationChecker.relaxed.violations(in: report.history)
        for violation in violations.prefix(40) { print(violation) }
        print("\(violations.count) violations")
        #expect(violations.isEmpty)
        #expect(report.idleFaults == [], "a fault that did not strike: the run says nothing")
    }

    private static func plan() throws -> [String: Any] {
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/plan.json")
        return try #require(JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
    }

    @Test("the long form has the phases of the case bank's plan, in order and length, and takes its 120 seconds")
    func plan() throws {
        let phases = try #require(try Self.plan()["phases"] as? [[String: Any]])
        let ours = FaultPlan.phases(.long(seconds: 120)).filter { !$0.isOwn }
        #expect(ours.map(\.name) == phases.compactMap { $0["name"] as? String })
        #expect(ours.map(\.seconds) == phases.compactMap { ($0["for_s"] as? NSNumber)?.doubleValue })
        #expect(ours.count == 23)
    }

    @Test("the short form has the phases and lengths that the plan names for it")
    func shortForm() throws {
        let text = try #require(try Self.plan()["short_form"] as? String)
        let listed = FaultPlan.phases(.short).map {
            ($0.name == "settle-and-probe" ? "settle" : $0.name) + " \(Int($0.seconds))"
        }
        #expect(text.hasSuffix(listed.joined(separator: ", ")), "\(text)")
    }

    @Test("a phase that is not reached says why, and one that injects can be told idle")
    func reach() {
        for phase in FaultPlan.phases {
            if case .notYet(let why) = phase.reach { #expect(why.count > 10, "\(phase.name)") }
        }
        let phases = [
            FaultReport.Phase(name: "a", start: 0, faultEnd: 1, end: 2, outcome: .struck(0)),
            FaultReport.Phase(name: "b", start: 2, faultEnd: 3, end: 4, outcome: .struck(3)),
            FaultReport.Phase(name: "c", start: 4, faultEnd: 5, end: 6, outcome: .quiet),
            FaultReport.Phase(name: "d", start: 6, faultEnd: 6, end: 6, outcome: .notReached("because")),
        ]
        let report = FaultReport(seed: 1, history: History(), phases: phases, footprints: [])
        #expect(report.idleFaults == ["a"])
        #expect(report.table.contains("not reached: d (because)"))
    }
}
