/// A construct that does not stand in `Sources`, where it may stand after all, and what to write instead.
struct CodeRule {
    let pattern: Pattern
    let advice: String
    /// Beginnings of the paths that the rule does not hold for.
    let exceptions: [String]

    init(_ pattern: String, except exceptions: [String] = [], _ advice: String) {
        self.pattern = Pattern(pattern)
        self.exceptions = exceptions
        self.advice = advice
    }

    func violations(in source: SwiftSource) -> [Violation] {
        if exceptions.contains(where: { source.path.hasPrefix($0) }) { return [] }
        return pattern.matches(in: source.code).map { match in
            Violation(path: source.path, line: match.line, advice: "`\(match.groups[0])`: \(advice)")
        }
    }
}

/// Where the outside world enters: the process's clock, environment, randomness and terminal.
private let edges = [
    "Sources/SallyportServer/", "Sources/EmbeddedPostgres/", "Sources/sallyport/", "Sources/sallyport-bench/",
    "Sources/http-echo/",
]

let codeRules: [CodeRule] = [
    CodeRule(#"\btry!"#, "throw, or handle the error where it stands"),
    CodeRule(#"\bas!"#, "`as?` with a guard, or a type that makes the cast needless"),
    CodeRule(#"\bfatalError\s*\("#, "a typed error; `precondition` for our own mistakes"),
    CodeRule(#"(?<!\btry)(?<!\bas)(?<=[\w)\]}"?])!(?![=])"#, "`guard let`, `if let` or `??` instead of a force unwrap"),
    CodeRule(#"\bcatch\s*\{\s*\}"#, "handle the error, or say by `try?` with a reason that it does not matter"),
    CodeRule(#"\bTask(\.detached)?(\s*<[^>]*>)?\s*\{"#, "`EventLoop.spawn`: a bare task leaves the loop"),
    CodeRule(#"\bTask\.(detached|immediate)\b"#, "`EventLoop.spawn`: a bare task leaves the loop"),
    CodeRule(
        #"\bTask(\s*<[^>]*>)?\s*\("#, except: ["Sources/Reactor/EventLoop"],
        "`EventLoop.spawn`: tasks start in one place"),
    CodeRule(#"\bTask\.sleep\b"#, "`EventLoop.sleep`: the runtime's own goes through another thread"),
    CodeRule(#"(?<![\w.])\bactor\s+\w+"#, "a class bound to a loop, or `Locked`"),
    CodeRule(#"(?<![\w.])(print|debugPrint|dump)\s*\("#, except: edges, "`Logger`"),
    CodeRule(#"\b(secure_)?getenv\b|\bProcessInfo\b|\benviron\b"#, except: edges, "take it from the settings"),
    CodeRule(
        #"\bCLOCK_REALTIME\w*|(?<![\w.])(?<!func )time\s*\(\s*(nil|&)|\bgettimeofday\s*\(|\bDate\s*\(\s*\)"#,
        except: edges, "a `WallClock` that is passed in"),
    CodeRule(
        #"\.random\s*\(\s*in:|\.randomElement\s*\(|\.shuffled\s*\(|\bSystemRandomNumberGenerator\b|\barc4random\w*"#,
        except: edges, "a `RandomSource` that is passed in"),
    CodeRule(#"\bMutex\s*[<(]"#, "`Locked`: the thread sanitizer does not see that one"),
    CodeRule(
        #"(?<![.`\w])public(?:\(set\))?\s+(?=[a-z@])"#, except: ["Sources/SallyportClient/"],
        "`package` between targets"),
]

/// Words that say nothing about a type, or that its history says.
private let emptyWords: Set<String> = [
    "Util", "Utils", "Utility", "Utilities", "Helper", "Helpers", "Common", "Manager", "Base", "Impl", "New", "Legacy",
    "V2", "Info",
]
private let declaration = Pattern(#"\b(?:class|struct|enum|protocol|actor|typealias|extension)\s+(\w+)"#)
private let nameWords = Pattern(#"[A-Z]+[0-9]*(?![a-z])|[A-Z][a-z0-9]*"#)

func nameViolations(in source: SwiftSource) -> [Violation] {
    func emptyWord(in name: String) -> String? {
        nameWords.matches(in: name).map { $0.groups[0] }.first { emptyWords.contains($0) }
    }
    var violations = declaration.matches(in: source.code).compactMap { match in
        emptyWord(in: match.groups[1]).map {
            Violation(path: source.path, line: match.line, advice: "`\($0)` in a name: say what the type is")
        }
    }
    let file = source.path.split(separator: "/").last.map(String.init) ?? ""
    if let word = emptyWord(in: file) {
        violations.append(
            Violation(path: source.path, line: 1, advice: "`\(word)` in a file's name: say what it holds"))
    }
    return violations
}

private let unchecked = Pattern(#"@unchecked\s+Sendable|\bnonisolated\(unsafe\)"#)

/// Who owns it, which thread, how long: once per file that overrules the compiler.
func safetyViolations(in source: SwiftSource) -> [Violation] {
    guard let match = unchecked.matches(in: source.code).first, !source.text.contains("SAFETY:") else { return [] }
    let advice = "`\(match.groups[0])` without a `// SAFETY:` comment: say who owns it, on which thread, how long"
    return [Violation(path: source.path, line: match.line, advice: advice)]
}

private let unfinished = Pattern(#"\b(TODO|FIXME|XXX|HACK)\b"#)

func unfinishedViolations(path: String, text: String) -> [Violation] {
    unfinished.matches(in: text).map {
        Violation(path: path, line: $0.line, advice: "`\($0.groups[0])`: do it, or open an issue")
    }
}
