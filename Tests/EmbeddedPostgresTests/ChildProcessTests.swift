import EmbeddedPostgres
import Testing

@Suite("Child process")
struct ChildProcessTests {
    @Test("input, both outputs and the status pass through, beyond what a pipe holds")
    func passThrough() throws {
        let text = String(repeating: "0123456789", count: 50_000)
        #expect(try ChildProcess(["/bin/cat"]).run(input: text, limit: .seconds(10)).output == text)
        let outcome = try ChildProcess(["/bin/cat", "/does/not/exist"], environment: ["LC_ALL=C"])
            .run(limit: .seconds(10))
        #expect(outcome.status == 1)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.contains("No such file"))
    }

    @Test("nothing of our environment is inherited, and the folder is the one asked for")
    func surroundings() throws {
        let environment = try ChildProcess(["/usr/bin/env"], environment: ["A=b"]).run(limit: .seconds(10))
        #expect(environment.output == "A=b\n")
        #expect(try ChildProcess(["/bin/pwd"], directory: "/usr").run(limit: .seconds(10)).output == "/usr\n")
    }

    @Test("arguments reach the program as they are")
    func arguments() throws {
        let outcome = try ChildProcess(["/usr/bin/printf", "%s|", "a b", "$(id)", "'"]).run(limit: .seconds(10))
        #expect(outcome.output == "a b|$(id)|'|")
    }

    @Test("a program that does not exist is an error")
    func missing() {
        #expect(throws: EmbeddedPostgresError.self) { try ChildProcess(["/does/not/exist"]).run(limit: .seconds(1)) }
    }

    @Test("a program that does not end is killed at the limit")
    func limit() {
        #expect(throws: EmbeddedPostgresError.programFailed(name: "sleep", reason: "not finished after 0.1 seconds")) {
            try ChildProcess(["/bin/sleep", "60"]).run(limit: .milliseconds(100))
        }
    }
}
