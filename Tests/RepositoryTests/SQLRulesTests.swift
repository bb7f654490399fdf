import Foundation
import Testing

@Suite("SQL and migrations")
struct SQLRulesTests {
    private let migrations: [String]

    init() {
        let paths = Repository.files(below: "migrations") { !$0.hasSuffix(".md") }
        migrations = paths.map { String($0.dropFirst("migrations/".count)) }
    }

    @Test("SQL stands in AuthStore, Postgres and migrations only")
    func placement() {
        for source in Repository.swiftFiles(below: "Sources") { report(sqlPlacementViolations(in: source)) }
    }

    @Test("statements take the time as a parameter and name their columns")
    func statementTexts() {
        for source in Repository.swiftFiles(below: "Sources") {
            for literal in source.literals {
                report(statementViolations(in: literal.text, path: source.path, firstLine: literal.line))
            }
        }
        for name in migrations {
            let text = statements(ofMigration: Repository.text("migrations/\(name)") ?? "")
            report(statementViolations(in: text, path: "migrations/\(name)", firstLine: 1))
        }
    }

    @Test("migrations are named NNNN_verb_object.sql and counted without a gap")
    func names() {
        #expect(!migrations.isEmpty)
        // Each folder is a sequence of its own: `standalone` is applied to some databases only.
        for (folder, paths) in Dictionary(grouping: migrations, by: { $0.contains("/") ? $0.prefix { $0 != "/" } : "" })
        {
            report(migrationNameViolations(paths.map { String($0.dropFirst(folder.isEmpty ? 0 : folder.count + 1)) }))
        }
    }

    // Postgres converts the whole text to the encoding of the database, comments too, and refuses what that lacks.
    @Test("migrations and statements are ASCII, comments too")
    func ascii() {
        for name in migrations {
            report(
                asciiViolations(
                    in: Repository.text("migrations/\(name)") ?? "", path: "migrations/\(name)", firstLine: 1))
        }
        for source in homesOfSQL.flatMap({ Repository.swiftFiles(below: String($0.dropLast())) }) {
            for literal in source.literals {
                report(asciiViolations(in: literal.text, path: source.path, firstLine: literal.line))
            }
        }
    }

    @Test("a character beyond ASCII is found, by its line")
    func notASCII() {
        let text = "-- a\nSELECT 1; -- s_\u{2026}\n\u{e9}"
        #expect(asciiViolations(in: text, path: "a", firstLine: 1).map(\.line) == [2, 3])
        #expect(asciiViolations(in: "SELECT 1", path: "a", firstLine: 1).isEmpty)
    }

    @Test("a migration begins with a comment that says why")
    func headers() {
        for name in migrations {
            let header = headerLines(ofMigration: Repository.text("migrations/\(name)") ?? "")
            if header.isEmpty {
                let advice = "no header: say why, which locks it takes, and how old and new servers both run meanwhile"
                report([Violation(path: "migrations/\(name)", line: 1, advice: advice)])
            }
        }
    }

    @Test("the manifest embeds the migrations of the folder, in order")
    func embedded() throws {
        let manifest = try #require(Repository.text("Package.swift"))
        let embedded = Pattern(#"\.embedInCode\(\s*"migrations/([^"]+)"\s*\)"#).matches(in: manifest)
        #expect(embedded.map { $0.groups[1] } == migrations)
        let link = Repository.root.appending(path: "Sources/AuthStore/migrations").path
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "../../migrations")
    }

    @Test("the list in code names the migrations of the folder, in order", .enabled(if: Repository.exists(list)))
    func listed() throws {
        let code = try #require(Repository.text(Self.list))
        let listed = Pattern(#"\bMigration\(\s*name:\s*"([^"]+)""#).matches(in: code)
        #expect(listed.map { $0.groups[1] } == migrations, "\(Self.list) differs from migrations/")
    }

    private static let list = "Sources/AuthStore/Migrations.swift"

    @Test(
        "a statement in the wrong module is found",
        arguments: [
            #""SELECT id FROM users""#, #""INSERT INTO users""#, #""DELETE FROM users""#, #""UPDATE users SET a = 1""#,
            #""select id from users""#, "\"\"\"\n    WITH a AS (SELECT 1)\n    SELECT b\n    FROM a\n    \"\"\"",
        ])
    func misplaced(literal: String) {
        let text = "let a = \(literal)"
        #expect(sqlPlacementViolations(in: SwiftSource(path: "Sources/AuthAPI/A.swift", text: text)).count == 1)
        #expect(sqlPlacementViolations(in: SwiftSource(path: "Sources/AuthStore/A.swift", text: text)).isEmpty)
    }

    @Test(
        "prose is not a statement",
        arguments: ["please select one from the list", "UPDATE", "insert the coin", "deleted from", "SELECT 1"])
    func prose(text: String) {
        #expect(sqlPlacementViolations(in: SwiftSource(path: "Sources/HTTP/A.swift", text: "\"\(text)\"")).isEmpty)
    }

    @Test(
        "the server's clock and a star are found in a statement",
        arguments: [
            "DEFAULT now()", "WHERE a < NOW ( )", "current_timestamp", "clock_timestamp()", "SELECT * FROM a",
            "SELECT a.* FROM a", "RETURNING *", "SET a = statement_timestamp()",
        ])
    func badStatement(sql: String) {
        let found = statementViolations(in: "-\n" + sql, path: "a", firstLine: 5)
        #expect(found.map(\.line) == [6])
    }

    @Test(
        "a parameter, a parameter's default, a count and a comment pass",
        arguments: [
            "SELECT count(*), $1 AS now", "-- now()", "known()",
            "(a text, at timestamptz DEFAULT statement_timestamp())",
        ])
    func goodStatement(sql: String) {
        #expect(statementViolations(in: statements(ofMigration: sql), path: "a", firstLine: 1).isEmpty)
    }

    @Test(
        "a misnamed migration is found",
        arguments: [
            ["1_create_a.sql"], ["0001_create.sql"], ["0001_Create_a.sql"], ["0001_create_a.txt"],
            ["0002_create_a.sql"],
            ["0001_create_a.sql", "0001_create_b.sql"], ["0001_create_a.sql", "0003_create_b.sql"],
        ])
    func misnamed(names: [String]) {
        #expect(migrationNameViolations(names).count == 1)
    }

    @Test("a header is the comment at the top")
    func header() {
        #expect(headerLines(ofMigration: "-- a\n-- b\n\n-- c").count == 2)
        #expect(headerLines(ofMigration: "SELECT 1; -- a").isEmpty)
    }
}
