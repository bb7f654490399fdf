import AuthTesting
import Foundation
import JSON
import Primitives

/// What is done to clocks, and to a row of the identity store. Each returns how often it has struck.
extension FaultWorld {
    /// Moves the clock of the test target, which is one for both servers.
    func moveClock(by seconds: Int64) throws {
        let answer = try HTTPClient(port: ports[0]).send(
            "POST", "/test/clock/advance", fields: [("Content-Type", "application/json")],
            body: Array("{\"seconds\":\(seconds)}".utf8))
        guard answer.status == 200 else { throw Problem.programFailed("the clock: \(answer.status)") }
    }

    /// The machines come to be half an hour apart; then the database fails over to a host that is 40 days ahead, and back.
    /// One server starts anew meanwhile.
    func skewClocks(for seconds: Double) throws -> Int {
        for (clock, minutes) in zip(clocks, [15, -15] as [Int64]) { clock.set(.minutes(minutes)) }
        defer { for clock in clocks { clock.set(.zero) } }
        rest(seconds * 0.2)
        try failOver(by: .days(40))
        rest(seconds * 0.2)
        _ = try rollServer(1)
        let strikes = try (0..<2).filter { try clockCheck($0).contains("sallyport clock confirm") }.count
        rest(seconds * 0.2)
        try failOver(by: .zero)
        let isOver = try waitUntil(limit: .seconds(10)) {
            try (0..<2).allSatisfy { try !clockCheck($0).contains("sallyport clock confirm") }
        }
        return isOver ? strikes : 0
    }

    private func failOver(by offset: Duration) throws {
        try site.database.moveClock(by: offset)
        _ = try terminateBackends(times: 1, within: 0.5)
    }

    private func clockCheck(_ index: Int) throws -> String {
        let answer = try HTTPClient(port: ports[index]).send("GET", "/readyz")
        return answer.json?["checks"]?.objectValue?["clock"]?.stringValue ?? ""
    }

    /// One session of one user ends never. Nobody may notice.
    func makeRowOdd(for seconds: Double) throws -> Int {
        let row = "WHERE id = (SELECT min(id) FROM sallyport.identity_sessions WHERE ended_at IS NULL)"
        let before = try site.database.sql("SELECT id, \"expiresAt\" FROM public.session \(row)")
        guard let id = before.first?.first, let end = before.first?.last else { return 0 }
        try site.database.sql("UPDATE public.session SET \"expiresAt\" = 'infinity' WHERE id = '\(id)'")
        rest(seconds)
        try site.database.sql("UPDATE public.session SET \"expiresAt\" = '\(end)' WHERE id = '\(id)'")
        return before.count
    }
}
