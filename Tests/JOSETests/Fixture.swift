import Crypto
import Foundation
import JOSE
import JSON
import Primitives
import Testing

/// Documents of the folder `Fixtures` beside this file.
enum Fixture {
    static func document(_ path: String) throws -> JSONObject {
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(path)")
        return try #require(try JSONParser.parse([UInt8](Data(contentsOf: url))).objectValue)
    }

    static func cases(_ group: String) throws -> [JSONObject] {
        try objects("cases", of: document("Cases/\(group).json"))
    }

    static func wycheproof(_ name: String) throws -> (groups: [JSONObject], statedCount: Int64) {
        let document = try document("Wycheproof/\(name)")
        return (
            try objects("testGroups", of: document), try #require(document["numberOfTests"]?.integerValue)
        )
    }

    static func objects(_ name: String, of document: JSONObject) throws -> [JSONObject] {
        try #require(document[name]?.arrayValue).map { try #require($0.objectValue) }
    }
}

extension JSONObject {
    func text(_ name: String) throws -> String {
        try #require(self[name]?.stringValue, "\(name) is missing")
    }

    func object(_ name: String) throws -> JSONObject {
        try #require(self[name]?.objectValue, "\(name) is missing")
    }

    func texts(_ name: String) throws -> [String] {
        try #require(self[name]?.arrayValue, "\(name) is missing").compactMap(\.stringValue)
    }
}

/// Keys made for this run.
enum TestKeys {
    static let signing = generated()
    static let other = generated()

    private static func generated() -> SigningKey {
        do {
            return .rsa(try .generate(bits: 2048))
        } catch {
            preconditionFailure("no test key: \(error)")
        }
    }
}
