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
        print("seed \(seed)")
        let report = try FaultRun(seconds: seconds, seed: seed).run()
        print(report.table)
        // A short run shares its machine with a build or another run more often than not.
        let checker = RotationChecker(recovery: seconds < 60 ? 4 : 2, budget: seconds < 60 ? 6 : 3.5)
        let violations = checker.violations(in: report.history)
        for violation in violations.prefix(40) { print(violation) }
        print("\(violations.count) violations")
        #expect(violations.isEmpty)
        if let rolling = report.phases.first(where: { $0.name == "rolling-restart" }) {
            let failed = report.history.operations.filter {
                $0.start >= rolling.start && $0.end <= rolling.end && $0.status != 200 && $0.kind == .refresh
                    && $0.actor == .owner
            }
            #expect(failed.isEmpty, "a rolling restart under load fails no request")
        }
        for phase in report.phases where phase.strikes != nil {
            #expect(phase.strikes ?? 0 > 0, "\(phase.name) did not strike: the run says nothing")
        }
    }

    @Test("the plan has the phases of the case bank's plan, in order")
    func plan() throws {
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/plan.json")
        let plan = try #require(
            JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
        let names = try #require(plan["phases"] as? [[String: Any]]).compactMap { $0["name"] as? String }
        #expect(names.count == 23)
        #expect(FaultPlan.phases.map(\.name) == names)
    }
}
