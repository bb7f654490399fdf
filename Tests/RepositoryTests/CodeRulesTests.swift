import Testing

@Suite("Code rules")
struct CodeRulesTests {
    @Test("no banned construct stands in the sources")
    func sources() {
        for source in Repository.swiftFiles(below: "Sources") {
            report(codeRules.flatMap { $0.violations(in: source) })
            report(nameViolations(in: source))
            report(safetyViolations(in: source))
        }
    }

    @Test("nothing is left for later")
    func unfinished() {
        let folders = ["Sources", "Tests", "scripts", "migrations", ".ci"]
        // This folder spells the words that it looks for.
        let paths = folders.flatMap { Repository.files(below: $0) { !$0.hasPrefix("Tests/RepositoryTests/") } }
        for path in paths {
            if let text = Repository.text(path) { report(unfinishedViolations(path: path, text: text)) }
        }
    }

    @Test(
        "a banned construct is found",
        arguments: [
            "let a = try! b()", "let a = b as! C", "fatalError(\"a\")", "let a = b!", "b!.c()", "a[0]![1]", "let a: B!",
            "f()!", "do { } catch { }", "Task { }", "Task<Void, Never> { }", "Task.detached { }", "Task.immediate { }",
            "Task.sleep(for: a)", "Task(executorPreference: a) { }", "Task(priority: .high) { }", "actor A {}",
            "print(a)", "debugPrint(a)", "getenv(\"A\")", "ProcessInfo.processInfo",
            "clock_gettime(CLOCK_REALTIME, &a)",
            "let a = time(nil)", "Date()", "Int.random(in: 0..<9)", "a.shuffled()", "let a = Mutex(0)",
            "let a: Mutex<Int>", "public struct A {}", "public(set) var a = 1", "public import A",
        ])
    func banned(line: String) {
        let source = SwiftSource(path: "Sources/HTTP/A.swift", text: "\n" + line + "\n")
        let violations = codeRules.flatMap { $0.violations(in: source) }
        #expect(violations.contains { $0.line == 2 })
    }

    @Test(
        "what only looks like a banned construct passes",
        arguments: [
            "a != b", "if !a { }", "f(!a)", "// try! fatalError()", "let a = \"Task { print(x) }\"", "loop.print(a)",
            "WriterTask(a)", "TaskGroup<Void>()", "withTaskGroup { }", "func time(of a: B) {}", "let time = a.time(b)",
            "#if !DEBUG", "catch { throw a }", "let isPublic = true", "let b = a ? !c : d", "catch is A { }",
            "case `public`", "case .public: break", "let a: B = .public",
        ])
    func harmless(line: String) {
        let source = SwiftSource(path: "Sources/HTTP/A.swift", text: line)
        #expect(codeRules.flatMap { $0.violations(in: source) }.isEmpty)
    }

    @Test("tasks start in the event loop, and the world enters in the server")
    func exceptions() {
        let start = SwiftSource(path: "Sources/Reactor/EventLoop.swift", text: "Task(executorPreference: self) { }")
        #expect(codeRules.flatMap { $0.violations(in: start) }.isEmpty)
        let bare = SwiftSource(path: "Sources/Reactor/EventLoop.swift", text: "Task { }")
        #expect(!codeRules.flatMap { $0.violations(in: bare) }.isEmpty)
        let server = SwiftSource(path: "Sources/SallyportServer/A.swift", text: "print(getenv(\"A\"), time(nil))")
        #expect(codeRules.flatMap { $0.violations(in: server) }.isEmpty)
    }

    @Test(
        "a type name that says nothing is found",
        arguments: [
            "struct TokenHelper {}", "enum Utils {}", "class KeyManager {}", "protocol HTTPBase {}",
            "struct ParserV2 {}",
        ])
    func emptyName(line: String) {
        #expect(nameViolations(in: SwiftSource(path: "Sources/HTTP/A.swift", text: line)).count == 1)
    }

    @Test("a file name that says nothing is found, a word that only contains one passes")
    func fileName() {
        #expect(nameViolations(in: SwiftSource(path: "Sources/HTTP/Helpers.swift", text: "")).count == 1)
        let names = "enum Base64URL {}; struct Database {}; struct Renewal {}; struct Implicit {}"
        #expect(nameViolations(in: SwiftSource(path: "Sources/HTTP/Base64.swift", text: names)).isEmpty)
    }

    @Test("overruling the compiler needs a reason")
    func safety() {
        let text = "final class A: @unchecked Sendable {}"
        #expect(safetyViolations(in: SwiftSource(path: "Sources/HTTP/A.swift", text: text)).count == 1)
        let reasoned = "// SAFETY: one thread.\n" + text
        #expect(safetyViolations(in: SwiftSource(path: "Sources/HTTP/A.swift", text: reasoned)).isEmpty)
    }

    @Test("a note for later is found", arguments: ["// TODO: a", "# FIXME", "-- XXX"])
    func note(line: String) {
        #expect(unfinishedViolations(path: "a", text: line).count == 1)
        #expect(unfinishedViolations(path: "a", text: "mastodon TODOS").isEmpty)
    }
}
