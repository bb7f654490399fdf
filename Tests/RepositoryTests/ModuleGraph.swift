/// A target as `Package.swift` declares it, or a module as the table of `Sources/README.md` does.
struct Module: Equatable {
    let name: String
    var imports: Set<String>
    var isBuilt = true
    let line: Int
}

/// `Package.swift`, read as text: asking the package manager while it runs the tests would wait for its lock.
enum PackageManifest {
    static let path = "Package.swift"

    private static let declaration = Pattern(
        #"(?<![\w.])(module|tests)\(\s*(?:of:\s*)?"(\w[\w-]*)"|\.(target|executableTarget|testTarget|systemLibrary)\(\s*name:\s*"(\w[\w-]*)""#
    )
    private static let quoted = Pattern(#""([\w-]+)""#)
    private static let list = Pattern(#"(?s)^[^\[]*?\[(.*?)\]"#)
    private static let labelled = Pattern(#"(?s)\bdependencies:\s*\[(.*?)\]"#)

    static func targets(in text: String) -> [Module] {
        let declarations = declaration.matches(in: text)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        return declarations.enumerated().map { index, match in
            let next = index + 1 < declarations.count ? declarations[index + 1].line : lines.count + 1
            // One declaration reaches to the next; two never share a line.
            let body = lines[(match.line - 1)..<max(next - 1, match.line)].joined(separator: "\n")
            let kind = match.groups[1]
            let name = kind.isEmpty ? match.groups[4] : match.groups[2] + (kind == "tests" ? "Tests" : "")
            let dependencies = (kind.isEmpty ? labelled : list).matches(in: body).first?.groups[1] ?? ""
            var imports = Set(quoted.matches(in: dependencies).map { $0.groups[1] })
            if kind == "tests" { imports.insert(match.groups[2]) }
            return Module(name: name, imports: imports, line: match.line)
        }
    }
}

/// The table of `Sources/README.md`: module, charter, may import, state.
enum ModuleTable {
    static let path = "Sources/README.md"

    static func modules(in text: String) -> [Module] {
        var modules: [Module] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let cells = line.split(separator: "|", omittingEmptySubsequences: false)
                .map { $0.trimmingPrefix(while: \.isWhitespace) }
                .map { String($0.reversed().trimmingPrefix(while: \.isWhitespace).reversed()) }
            guard cells.count == 6, cells[1].hasPrefix("`"), cells[1].hasSuffix("`") else { continue }
            modules.append(
                Module(
                    name: String(cells[1].dropFirst().dropLast()),
                    imports: Set(cells[3].split(separator: ", ").map(String.init)).subtracting(["–"]),
                    isBuilt: cells[4] == "built", line: index + 1))
        }
        return modules
    }
}

private let importLine = Pattern(
    #"^\s*(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|package|internal|fileprivate|private)\s+)?"#
        + #"import\s+(?:(?:struct|class|enum|protocol|typealias|func|let|var)\s+)?(\w+)"#)

func imports(of source: SwiftSource) -> [(name: String, line: Int)] {
    importLine.matches(in: source.code).map { ($0.groups[1], $0.line) }
}

/// The imports of a file that its module has no right to.
func importViolations(in source: SwiftSource, allowed: Set<String>) -> [Violation] {
    imports(of: source).filter { !allowed.contains($0.name) }.map { found in
        let advice =
            found.name == "Foundation"
            ? "`import Foundation`: Glibc, or our own modules; it would add 44 MB"
            : "`import \(found.name)`: not in this module's row of \(ModuleTable.path)"
        return Violation(path: source.path, line: found.line, advice: advice)
    }
}
