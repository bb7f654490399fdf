import Foundation
import Testing

/// One case of the fixtures: what is sent and what has to come back.
struct HTTPCase: Decodable, Sendable, CustomTestStringConvertible {
    let id: String
    let title: String
    let level: String
    let needs: String?
    let raw: [Step]
    let expect: Expectation

    var testDescription: String { "\(id) \(title)" }

    /// The bytes of all steps, whatever the time between them.
    var bytes: [UInt8] {
        raw.flatMap { step -> [UInt8] in
            switch step {
            case .bytes(let bytes), .bytewise(let bytes), .drip(let bytes, _, _): bytes
            case .pause, .halfClose, .await100, .waitForClose: []
            }
        }
    }

    enum Step: Sendable {
        case bytes([UInt8])
        /// One byte per write.
        case bytewise([UInt8])
        case pause(milliseconds: Int)
        case halfClose
        case await100
        case drip([UInt8], everyMilliseconds: Int, milliseconds: Int)
        case waitForClose(milliseconds: Int)
    }

    struct Expectation: Decodable, Sendable {
        let outcome: String
        let status: [Int]
        let responses: ClosedRange<Int>
        let then: String
        let seen: [Seen]
        let maxAppRequests: Int
        let orSilentClose: Bool
        let wire: Wire
    }

    struct Seen: Decodable, Sendable {
        let method: String?
        let path: String?
        let query: String?
        let body: String?
        let headers: [String: String]?
    }

    struct Wire: Decodable, Sendable {
        var no_1xx: Bool?
        var no_body: Bool?
        var first_is_head: Bool?
        var framing_single: Bool?
        var no_cl_on_204: Bool?
        var head_len_matches: Bool?
        var server_no_version: Bool?
        var no_dup_singletons: Bool?
        var must_not_contain: String?
        var must_have_header: String?
        var must_not_have_header: String?
    }

    static let all: [HTTPCase] = load()

    private static func load() -> [HTTPCase] {
        let folder = URL(fileURLWithPath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent("Fixtures")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasSuffix(".json") }.sorted().flatMap { name -> [HTTPCase] in
            // A file that cannot be read shows in the count that the tests compare.
            guard let data = try? Data(contentsOf: folder.appendingPathComponent(name)),
                let file = try? JSONDecoder().decode(CaseFile.self, from: data)
            else { return [] }
            return file.cases
        }
    }

    private struct CaseFile: Decodable {
        let cases: [HTTPCase]
    }
}

extension HTTPCase {
    private enum Key: String, CodingKey {
        case id, title, level, needs, raw, expect
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        id = try values.decode(String.self, forKey: .id)
        title = try values.decode(String.self, forKey: .title)
        level = try values.decode(String.self, forKey: .level)
        needs = try values.decodeIfPresent(String.self, forKey: .needs)
        expect = try values.decode(Expectation.self, forKey: .expect)
        if let text = try? values.decode(String.self, forKey: .raw) {
            raw = [.bytes(latin1(text))]
        } else {
            raw = try values.decode([Step].self, forKey: .raw)
        }
    }
}

extension HTTPCase.Step: Decodable {
    private enum Key: String, CodingKey {
        case `repeat`, times, sequence, bytewise, drip
        case sleep_ms, half_close, await_100, every_ms, max_ms, wait_close_ms
    }

    init(from decoder: any Decoder) throws {
        if let text = try? decoder.singleValueContainer().decode(String.self) {
            self = .bytes(latin1(text))
            return
        }
        let values = try decoder.container(keyedBy: Key.self)
        if let text = try values.decodeIfPresent(String.self, forKey: .repeat) {
            let times = try values.decode(Int.self, forKey: .times)
            self = .bytes(Array(repeatElement(latin1(text), count: times).joined()))
        } else if let text = try values.decodeIfPresent(String.self, forKey: .sequence) {
            let times = try values.decode(Int.self, forKey: .times)
            self = .bytes((0..<times).flatMap { latin1(text.replacingOccurrences(of: "%d", with: String($0))) })
        } else if let text = try values.decodeIfPresent(String.self, forKey: .bytewise) {
            self = .bytewise(latin1(text))
        } else if let text = try values.decodeIfPresent(String.self, forKey: .drip) {
            self = .drip(
                latin1(text), everyMilliseconds: try values.decode(Int.self, forKey: .every_ms),
                milliseconds: try values.decode(Int.self, forKey: .max_ms))
        } else if let milliseconds = try values.decodeIfPresent(Int.self, forKey: .sleep_ms) {
            self = .pause(milliseconds: milliseconds)
        } else if let milliseconds = try values.decodeIfPresent(Int.self, forKey: .wait_close_ms) {
            self = .waitForClose(milliseconds: milliseconds)
        } else if values.contains(.half_close) {
            self = .halfClose
        } else {
            _ = try values.decode(Bool.self, forKey: .await_100)
            self = .await100
        }
    }
}

extension HTTPCase.Expectation {
    private enum Key: String, CodingKey {
        case outcome, status, responses, then, seen, max_app_requests, or_silent_close, wire
    }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        outcome = try values.decode(String.self, forKey: .outcome)
        status = try values.decode([Int].self, forKey: .status)
        then = try values.decode(String.self, forKey: .then)
        seen = try values.decodeIfPresent([HTTPCase.Seen].self, forKey: .seen) ?? []
        maxAppRequests = try values.decode(Int.self, forKey: .max_app_requests)
        orSilentClose = try values.decodeIfPresent(Bool.self, forKey: .or_silent_close) ?? false
        wire = try values.decodeIfPresent(HTTPCase.Wire.self, forKey: .wire) ?? HTTPCase.Wire()
        if let count = try? values.decode(Int.self, forKey: .responses) {
            responses = count...count
        } else {
            let bounds = try values.decode([Int].self, forKey: .responses)
            responses = bounds[0]...bounds[1]
        }
    }
}

/// Code points 0 to 255 as bytes.
func latin1(_ text: String) -> [UInt8] {
    text.unicodeScalars.map { UInt8($0.value) }
}

/// Bytes as code points 0 to 255.
func latin1(_ bytes: some Sequence<UInt8>) -> String {
    String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
}
