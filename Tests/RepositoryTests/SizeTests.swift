import Testing

private let functionLinesMax = 70
private let fileLinesMax = ["Sources": 500, "Tests": 800]

private let token = Pattern(
    #"(?<![.\w])(?:func\s+(\w+|[^\s\w(]+)|(init|deinit|subscript)\b|(?:var|let|case|associatedtype|typealias)\b)"#
        + #"|[(){}\[\]]"#)

/// Functions with the number of lines from `func` to the closing brace, found by braces; in the order of their ends.
private func functions(in source: SwiftSource) -> [(name: String, line: Int, count: Int)] {
    var found: [(name: String, line: Int, count: Int)] = []
    var open: [(name: String, line: Int, depth: Int)] = []
    // Its body has not begun. A requirement of a protocol has none: the next declaration or brace ends it.
    var pending: (name: String, line: Int)?
    var (braces, parentheses) = (0, 0)
    for match in token.matches(in: source.code) {
        switch match.groups[0] {
        case "(", "[": parentheses += 1
        case ")", "]": parentheses -= 1
        case "{":
            braces += 1
            guard parentheses == 0, let function = pending else { continue }
            open.append((function.name, function.line, braces))
            pending = nil
        case "}":
            if let function = open.last, function.depth == braces {
                found.append((function.name, function.line, match.line - function.line + 1))
                open.removeLast()
            }
            braces -= 1
            if parentheses == 0 { pending = nil }
        default:
            let name = match.groups[1] + match.groups[2]
            if parentheses == 0 { pending = name.isEmpty ? nil : (name, match.line) }
        }
    }
    return found
}

@Suite("Sizes")
struct SizeTests {
    @Test("no file is longer than its cap", arguments: fileLinesMax.keys.sorted())
    func files(folder: String) throws {
        let cap = try #require(fileLinesMax[folder])
        for source in Repository.swiftFiles(below: folder) where source.lineCount > cap {
            let advice = "\(source.lineCount) lines, the cap is \(cap): split it by idea"
            report([Violation(path: source.path, line: cap, advice: advice)])
        }
    }

    @Test("no function is longer than its cap")
    func longFunctions() {
        for source in Repository.swiftFiles(below: "Sources") + Repository.swiftFiles(below: "Tests") {
            for function in functions(in: source) where function.count > functionLinesMax {
                let advice =
                    "`\(function.name)` has \(function.count) lines, the cap is \(functionLinesMax): name its steps"
                report([Violation(path: source.path, line: function.line, advice: advice)])
            }
        }
    }

    @Test("functions are measured from their first line to their brace")
    func measure() {
        let source = SwiftSource(
            path: "Sources/X/Y.swift",
            text: """
                protocol P { func a(); var b: Int { get } }
                struct S {
                    init(c: () -> Void = { }) {
                        self.init()
                        func inner() {
                        }
                    }
                    func d(
                        e: Int
                    ) -> Int
                    where T: P {
                        [1].map { $0 }
                    }
                    static func == (a: S, b: S) -> Bool { true }
                    deinit {
                    }
                }
                """)
        let measured = functions(in: source).map { "\($0.name) \($0.line) \($0.count)" }
        #expect(measured == ["inner 5 2", "init 3 5", "d 8 6", "== 14 1", "deinit 15 2"])
    }
}
