/// Folders whose literals may hold SQL.
let homesOfSQL = ["Sources/AuthStore/", "Sources/Postgres/"]

// Upper case as we write it, or a literal that begins with the verb in any case; English prose passes.
private let statement = Pattern(
    #"\bSELECT\b[\s\S]+\bFROM\b|\bINSERT\s+INTO\b|\bDELETE\s+FROM\b|\bUPDATE\s+\S+\s+SET\b"#
        + #"|\A\s*(?i:select\s[\s\S]+\sfrom|insert\s+into|delete\s+from|update\s+\S+\s+set)\s"#)

func sqlPlacementViolations(in source: SwiftSource) -> [Violation] {
    if homesOfSQL.contains(where: { source.path.hasPrefix($0) }) { return [] }
    return source.literals.filter { statement.matches($0.text) }.map {
        Violation(path: source.path, line: $0.line, advice: "SQL in a literal: it lives in AuthStore and migrations/")
    }
}

// A function for the application's hooks may take its caller's time where none is given: the parameter stays.
private let serverClock = Pattern(
    #"(?i)(?<!, at timestamptz DEFAULT )\b(?:now|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday)\s*\(\s*\)"#
        + #"|\b(?:CURRENT_TIMESTAMP|CURRENT_DATE|CURRENT_TIME|LOCALTIMESTAMP|LOCALTIME)\b"#)
private let star = Pattern(#"(?i)\b(?:select|returning)\s+(?:\w+\.)?\*"#)

/// Where the database's clock is read, which is then bound as a parameter everywhere else.
private let homeOfClock = "Sources/AuthStore/Clocks/ClockTable.swift"

/// Rules for the text of statements: a literal, or a migration without its comments.
func statementViolations(in sql: String, path: String, firstLine: Int) -> [Violation] {
    let clocks = (path == homeOfClock ? [] : serverClock.matches(in: sql)).map { match in
        let advice = "`\(match.groups[0])`: bind the time as a parameter; the test clock depends on it"
        return Violation(path: path, line: firstLine + match.line - 1, advice: advice)
    }
    let stars = star.matches(in: sql).map { match in
        Violation(path: path, line: firstLine + match.line - 1, advice: "`\(match.groups[0])`: name the columns")
    }
    return clocks + stars
}

private let comment = Pattern(#"--.*$"#)

/// The statements of a migration, comments blanked, lines kept.
func statements(ofMigration text: String) -> String {
    text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
        comment.matches(in: String(line)).first.map { String(line.dropLast($0.groups[0].count)) } ?? String(line)
    }.joined(separator: "\n")
}

/// Lines that a database of another encoding may refuse.
func asciiViolations(in text: String, path: String, firstLine: Int) -> [Violation] {
    text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap { index, line in
        guard !line.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        return Violation(path: path, line: firstLine + index, advice: "not ASCII: a LATIN1 database may refuse it")
    }
}

private let migrationName = Pattern(#"\A(\d{4})_[a-z]+(?:_[a-z0-9]+)+\.sql\z"#)

/// Names that break `NNNN_verb_object.sql`, or the count from 0001 without a gap.
func migrationNameViolations(_ names: [String]) -> [Violation] {
    names.sorted().enumerated().compactMap { index, name in
        let path = "migrations/\(name)"
        guard let match = migrationName.matches(in: name).first else {
            return Violation(path: path, line: 1, advice: "a migration is named NNNN_verb_object.sql")
        }
        guard Int(match.groups[1]) == index + 1 else {
            return Violation(path: path, line: 1, advice: "number \(index + 1) is missing or taken twice")
        }
        return nil
    }
}

/// The lines of comment that a migration begins with.
func headerLines(ofMigration text: String) -> [Substring] {
    Array(text.split(separator: "\n", omittingEmptySubsequences: false).prefix { $0.hasPrefix("--") })
}
