import AuthTesting
import Foundation
import Testing

/// A statement of the store as its source file spells it: a new one is found without a list of names.
struct StatementSource {
    let name: String
    /// `nil` for a text that is put together for the mapping of an identity store.
    let sql: String?
    /// As `PREPARE` takes them.
    let types: [String]

    static func all() throws -> [StatementSource] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Sources/AuthStore")
        let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
        return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
            .flatMap { try statements(in: String(contentsOf: $0, encoding: .utf8)) }
    }

    private static func statements(in text: String) throws -> [StatementSource] {
        let call = try Regex(
            #"\bStatement\(\s*"(\w+)"(?:,\s*(?:"{3}\n([\s\S]*?)"{3}|"([^"\n]*)")(?:,\s*(\[[^\]]*\]|\w+))?\s*\))?"#)
        return try text.matches(of: call).map { match in
            func group(_ index: Int) -> String? { match.output[index].substring.map(String.init) }
            return StatementSource(
                name: try #require(group(1)), sql: group(2) ?? group(3),
                types: try group(4).map { try types($0, in: text) } ?? [])
        }
    }

    private static let words = [
        "uuid": "uuid", "text": "text", "bytes": "bytea", "bool": "boolean", "int64": "bigint",
        "timestamp": "timestamptz", "textArray": "text[]", "bytesArray": "bytea[]", "int64Array": "bigint[]",
    ]

    /// - Parameter list: `[.uuid, .text]`, or the name of such a list in the same file.
    private static func types(_ list: String, in text: String) throws -> [String] {
        var list = Substring(list)
        if !list.hasPrefix("[") {
            let named = try Regex("let \(list): \\[SQLType\\] = (\\[[^\\]]*\\])")
            list = try #require(text.firstMatch(of: named)?.output[1].substring)
        }
        return try list.matches(of: Regex(#"\.(\w+)"#)).map { match in
            try #require(words[String(match.output[1].substring ?? "")])
        }
    }
}
