import Testing

/// The toolchain's own modules that every target may use.
private let toolchain: Set<String> = ["Swift", "Glibc", "Synchronization"]
/// A program is its arguments; IntegrationTests runs it.
private let programs: Set<String> = ["sallyport", "sallyport-bench", "http-echo"]
private let testToolchain: Set<String> = toolchain.union(["Testing", "Foundation", "FoundationNetworking", "Dispatch"])

@Suite("Module graph")
struct ModuleGraphTests {
    private let targets: [Module]
    private let table: [Module]

    init() throws {
        targets = PackageManifest.targets(in: try #require(Repository.text(PackageManifest.path)))
        table = ModuleTable.modules(in: try #require(Repository.text(ModuleTable.path)))
    }

    private var products: [Module] { targets.filter { !isTest($0.name) } }

    private func isTest(_ name: String) -> Bool {
        name.hasSuffix("Tests") || ["AuthTesting", "FaultRun", "sallyport-faults"].contains(name)
    }

    @Test("the table and the manifest name the same modules and dependencies")
    func tableAndManifest() {
        let notYet = Set(table.filter { !$0.isBuilt }.map(\.name))
        let rows = Dictionary(table.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        for target in products {
            guard let row = rows[target.name], row.isBuilt else {
                let advice = "`\(target.name)` has no row marked as built in \(ModuleTable.path): add it"
                report([Violation(path: PackageManifest.path, line: target.line, advice: advice)])
                continue
            }
            // FoundationEssentials comes with the toolchain, so the manifest does not name it.
            let expected = row.imports.subtracting(notYet).subtracting(["FoundationEssentials"])
            for name in expected.symmetricDifference(target.imports).sorted() {
                let advice = "`\(target.name)` → `\(name)` stands in only one of manifest and table"
                report([Violation(path: ModuleTable.path, line: row.line, advice: advice)])
            }
        }
        for row in table where row.isBuilt && !products.contains(where: { $0.name == row.name }) {
            let advice = "`\(row.name)` is marked as built, but is no target: mark it as not yet"
            report([Violation(path: ModuleTable.path, line: row.line, advice: advice)])
        }
        #expect(Set(table.map(\.name)).count == table.count, "a module has two rows")
        #expect(table.count > 20)
    }

    @Test("a source file imports what its module's row allows, and nothing else")
    func sourceImports() throws {
        for row in table where row.isBuilt {
            for source in Repository.swiftFiles(below: "Sources/\(row.name)") {
                report(importViolations(in: source, allowed: row.imports.union(toolchain)))
            }
        }
    }

    @Test("only the server may import FoundationEssentials, and only named modules C")
    func restrictedModules() {
        #expect(
            table.filter { $0.isBuilt && $0.imports.contains("FoundationEssentials") }.map(\.name) == [
                "SallyportServer"
            ])
        let users = [
            "CLinux": ["Reactor"], "COpenSSL": ["Crypto", "TLS"], "CLibPQ": ["Postgres"], "CCurl": ["Outbound"],
            "CYaml": ["Doctor"],
        ]
        for (name, allowed) in users {
            #expect(table.filter { $0.imports.contains(name) }.map(\.name).sorted() == allowed, "\(name)")
        }
    }

    @Test("a dependency that no file imports is removed from the manifest and the table")
    func unusedDependencies() {
        for target in products where !programs.contains(target.name) {
            let sources = Repository.swiftFiles(below: "Sources/\(target.name)")
            // A module that is still to be written imports nothing.
            if sources.contains(where: { $0.path.hasSuffix("/Placeholder.swift") }) { continue }
            let used = Set(sources.flatMap { imports(of: $0).map(\.name) })
            for name in target.imports.subtracting(used).sorted() {
                let advice = "`\(target.name)` does not import `\(name)`: drop it here and in \(ModuleTable.path)"
                report([Violation(path: PackageManifest.path, line: target.line, advice: advice)])
            }
        }
    }

    @Test("a test file imports its target's dependencies and the toolchain only")
    func testImports() {
        for target in targets where isTest(target.name) {
            for source in Repository.swiftFiles(below: "Tests/\(target.name)") {
                report(
                    imports(of: source).filter { !target.imports.union(testToolchain).contains($0.name) }.map {
                        let advice =
                            "`import \($0.name)`: not a dependency of `\(target.name)` in \(PackageManifest.path)"
                        return Violation(path: source.path, line: $0.line, advice: advice)
                    })
            }
        }
    }

    @Test("dependencies form no circle")
    func acyclic() {
        var rest = table
        while let free = rest.firstIndex(where: { row in !rest.contains { row.imports.contains($0.name) } }) {
            rest.remove(at: free)
        }
        #expect(rest.map(\.name).isEmpty)
    }

    @Test("every folder is a target, every target a folder, and every module has its tests")
    func folders() {
        #expect(Repository.folders(in: "Sources") == Set(products.map(\.name)))
        #expect(Repository.folders(in: "Tests") == Set(targets.map(\.name).filter(isTest)))
        let headers = ["CLinux", "COpenSSL", "CLibPQ", "CCurl", "CYaml"]
        for target in products where !programs.contains(target.name) && !headers.contains(target.name) {
            #expect(targets.contains { $0.name == target.name + "Tests" }, "\(target.name) has no tests")
        }
    }

    @Test("declarations of the manifest are read in every form it uses")
    func manifest() {
        let text = """
            module("A", []),
            module("B", ["A", "C-D"]),
            .systemLibrary(name: "E", pkgConfig: "e", providers: [.apt(["e-dev"])]),
            .target(name: "F"),
            .executableTarget(
                name: "G",
                dependencies: [
                    "A",
                    "B",
                ],
                linkerSettings: [.unsafeFlags(["-x"])]
            ),
            tests(of: "A"),
            tests(
                of: "B", ["A"]),
            """
        let read = PackageManifest.targets(in: text)
        #expect(read.map(\.name) == ["A", "B", "E", "F", "G", "ATests", "BTests"])
        #expect(read.map(\.imports) == [[], ["A", "C-D"], [], [], ["A", "B"], ["A"], ["A", "B"]])
    }

    @Test("rows of the table are read with their state")
    func rows() {
        let text = """
            | module | charter | may import | state |
            |---|---|---|---|
            | `A` | a | – | built |
            | `B` | b | A, C | not yet |
            """
        let read = ModuleTable.modules(in: text)
        #expect(read.map(\.name) == ["A", "B"])
        #expect(read.map(\.imports) == [[], ["A", "C"]])
        #expect(read.map(\.isBuilt) == [true, false])
    }

    @Test(
        "a forbidden import is found in every spelling",
        arguments: [
            "import Foundation", "package import Foundation", "@preconcurrency import Foundation",
            "import struct Foundation.Date", "@_spi(X) internal import Foundation", "import Foundation.NSObject",
        ])
    func forbiddenImport(line: String) {
        let source = SwiftSource(path: "Sources/HTTP/A.swift", text: "import Glibc\n" + line)
        let violations = importViolations(in: source, allowed: toolchain)
        #expect(violations.map(\.line) == [2])
        #expect(violations.first?.advice.contains("Foundation") == true)
    }
}
