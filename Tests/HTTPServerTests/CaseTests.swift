import HTTP
import HTTPServer
import Testing

/// Each case of the fixtures over a real socket.
@Suite("Case bank, server")
struct CaseTests {
    private static let plain = HTTPCase.all.filter { $0.needs == nil }
    private static let timed = HTTPCase.all.filter { $0.needs == "short-timeouts" }
    /// A client that does not read has no answers to judge: `DeadlineTests` has one.
    private static let elsewhere: Set<String> = ["limit-021"]

    @Test("every case is run here or is named with its reason")
    func countsAddUp() {
        #expect(HTTPCase.all.count == 325)
        #expect(Self.plain.count + Self.timed.count + Self.elsewhere.count == HTTPCase.all.count)
        #expect(Set(HTTPCase.all.filter { $0.needs == "no-read" }.map(\.id)) == Self.elsewhere)
    }

    @Test("the answers on the wire are what the cases expect")
    func wire() async throws {
        let configure: (inout HTTPServerConfiguration) -> Void = { $0.limits.bodyBytesMax = 1_048_576 }
        try await TestServer.run(loopCount: 2, configure: configure) { server in
            let port = server.port
            let results = await onThread {
                Self.plain.map { (one: $0, problems: CaseRunner.problems($0, port: port)) }
            }
            #expect(results.count == 320)
            for (one, problems) in results { #expect(problems.isEmpty, "\(one.id) \(one.title)") }
        }
    }

    @Test("a request that is too slow is ended within its deadline", arguments: timed)
    func slow(_ one: HTTPCase) async throws {
        let configure: (inout HTTPServerConfiguration) -> Void = {
            $0.headerDeadline = .milliseconds(300)
            $0.bodyDeadline = .milliseconds(300)
        }
        try await TestServer.run(configure: configure) { server in
            let port = server.port
            let problems = await onThread { CaseRunner.problems(one, port: port) }
            #expect(problems.isEmpty)
        }
    }
}
