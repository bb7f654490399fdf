import Foundation
import JSON
import Testing

/// A Wycheproof file of the folder beside this one.
struct WycheproofFile {
    let groups: [JSONObject]
    let statedCount: Int64

    init(_ name: String) throws {
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(name)")
        let document = try #require(try JSONParser.parse([UInt8](Data(contentsOf: url))).objectValue)
        groups = try #require(document["testGroups"]?.arrayValue).map { try #require($0.objectValue) }
        statedCount = try #require(document["numberOfTests"]?.integerValue)
    }
}

extension JSONObject {
    func text(_ name: String) throws -> String {
        try #require(self[name]?.stringValue, "\(name) is missing")
    }

    func object(_ name: String) throws -> JSONObject {
        try #require(self[name]?.objectValue, "\(name) is missing")
    }

    var tests: [JSONObject] { self["tests"]?.arrayValue?.compactMap(\.objectValue) ?? [] }
}
