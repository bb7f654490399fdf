import Foundation
import Testing

/// The working tree that these tests were compiled from.
enum Repository {
    static let root: URL = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Made by tools, or private to a developer; the same names stand in `.gitignore`.
    private static let skipped: Set<String> = [".git", ".sallyport", ".venv", ".swiftpm", ".DS_Store", "pair.json"]

    /// Paths from the root, sorted. Links are not followed.
    static func files(below folder: String = "", where isWanted: (String) -> Bool = { _ in true }) -> [String] {
        let start = root.appending(path: folder)
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: start.path)) ?? []
        var found: [String] = []
        for entry in entries where !skipped.contains(entry) && !entry.hasPrefix(".build") && !entry.hasSuffix(".swp") {
            let path = folder.isEmpty ? entry : "\(folder)/\(entry)"
            let kind = (try? FileManager.default.attributesOfItem(atPath: root.appending(path: path).path))?[.type]
            switch kind as? FileAttributeType {
            case .typeDirectory: found += files(below: path, where: isWanted)
            case .typeRegular where isWanted(path): found.append(path)
            default: continue
            }
        }
        return found.sorted()
    }

    static func swiftFiles(below folder: String) -> [SwiftSource] {
        files(below: folder) { $0.hasSuffix(".swift") }.compactMap { path in
            text(path).map { SwiftSource(path: path, text: $0) }
        }
    }

    /// nil when the file is not there or is not UTF-8.
    static func text(_ path: String) -> String? {
        guard let data = FileManager.default.contents(atPath: root.appending(path: path).path) else { return nil }
        return String(data: data, encoding: .utf8)
    }

    static func exists(_ path: String) -> Bool {
        FileManager.default.fileExists(atPath: root.appending(path: path).path)
    }

    /// The folders directly below one.
    static func folders(in folder: String) -> Set<String> {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path)) ?? []
        return Set(
            entries.filter { entry in
                var isFolder: ObjCBool = false
                let path = root.appending(path: "\(folder)/\(entry)").path
                return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
            })
    }
}

/// A place where a house rule is broken, and what to write instead.
struct Violation: Equatable, CustomStringConvertible {
    let path: String
    let line: Int
    let advice: String

    var description: String { "\(path):\(line): \(advice)" }
}

/// Each as an issue of its own, at the place itself.
func report(_ violations: [Violation]) {
    for violation in violations {
        let location = SourceLocation(
            fileID: "sallyport/\(violation.path)", filePath: Repository.root.appending(path: violation.path).path,
            line: max(violation.line, 1), column: 1)
        Issue.record(Comment(rawValue: violation.description), sourceLocation: location)
    }
}

/// A pattern with its matches in a text; ICU's syntax, since the standard library's is slow in debug builds.
struct Pattern {
    private let expression: NSRegularExpression

    init(_ pattern: String) {
        do {
            expression = try NSRegularExpression(pattern: pattern, options: [.anchorsMatchLines])
        } catch {
            preconditionFailure("not a regular expression: \(pattern)")
        }
    }

    /// The whole match, then its groups ("" for one that took no part), with the line that the match starts on.
    func matches(in text: String) -> [(groups: [String], line: Int)] {
        let all = text as NSString
        var (line, counted) = (1, 0)
        return expression.matches(in: text, range: NSRange(location: 0, length: all.length)).map { match in
            let groups = (0..<match.numberOfRanges).map { index in
                let range = match.range(at: index)
                return range.location == NSNotFound ? "" : all.substring(with: range)
            }
            let between = all.substring(with: NSRange(location: counted, length: match.range.location - counted))
            line += between.utf8.count { $0 == UInt8(ascii: "\n") }
            counted = match.range.location
            return (groups, line)
        }
    }

    func matches(_ text: String) -> Bool {
        expression.firstMatch(in: text, range: NSRange(location: 0, length: (text as NSString).length)) != nil
    }
}
