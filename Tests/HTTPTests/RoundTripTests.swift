import HTTP
import Testing

/// Random requests, written, parsed and compared. The generator is seeded, so that a failure can be repeated.
@Suite("Round trip")
struct RoundTripTests {
    @Test("what was parsed, written again and parsed again is the same", arguments: 0..<200)
    func requests(seed: Int) throws {
        var random = SeededGenerator(state: UInt64(seed) &* 0x9e37_79b9_7f4a_7c15 | 1)
        var bytes: [UInt8] = []
        let count = Int.random(in: 1...4, using: &random)
        for _ in 0..<count { bytes += Self.randomRequest(&random) }
        let first = ParserHarness.run(bytes)
        #expect(first.error == nil)
        #expect(first.requests.count == count)
        let second = ParserHarness.run(first.requests.flatMap(Self.written))
        #expect(second.requests.count == count)
        for (one, other) in zip(first.requests, second.requests) {
            #expect(one.method == other.method && one.target == other.target && one.body == other.body)
            let kept = one.fields.filter { !["transfer-encoding", "content-length"].contains($0.name.lowercased()) }
            let keptAgain = other.fields.filter { $0.name.lowercased() != "content-length" }
            #expect(kept.elementsEqual(keptAgain) { $0 == $1 })
        }
        let cut = Int.random(in: 0...bytes.count, using: &random)
        #expect(ParserHarness.run(bytes, splitAt: cut) == first)
    }

    @Test("random bytes never crash the parser and never depend on the cut", arguments: 0..<300)
    func noise(seed: Int) {
        var random = SeededGenerator(state: UInt64(seed) &* 0x9e37_79b9_7f4a_7c15 | 1)
        var bytes = Self.randomRequest(&random) + Self.randomRequest(&random)
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let index = Int.random(in: 0..<bytes.count, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
            case 1: bytes.remove(at: index)
            default: bytes.insert(Array("\r\n\u{0} :;0\t".utf8).randomElement(using: &random) ?? 0, at: index)
            }
        }
        let whole = ParserHarness.run(bytes)
        #expect(ParserHarness.runBytewise(bytes) == whole)
        for index in stride(from: 0, through: bytes.count, by: 7) {
            #expect(ParserHarness.run(bytes, splitAt: index) == whole)
        }
    }

    private static func written(_ request: HTTPRequest) -> [UInt8] {
        let query = request.target.query.map { "?" + $0 } ?? ""
        var text = latin1("\(request.method) \(request.target.path)\(query) HTTP/1.1\r\n")
        for (name, value) in request.fields where name.lowercased() != "transfer-encoding" {
            guard name.lowercased() != "content-length" else { continue }
            text += latin1("\(name): \(value)\r\n")
        }
        return text + latin1("Content-Length: \(request.body.count)\r\n\r\n") + request.body
    }

    private static func randomRequest(_ random: inout SeededGenerator) -> [UInt8] {
        let path = (0..<Int.random(in: 1...3, using: &random)).map { _ in "/" + word(&random) }.joined()
        let query = Bool.random(using: &random) ? "?" + word(&random) + "=%20" : ""
        var text = ["GET", "POST", "PUT"].randomElement(using: &random) ?? "GET"
        text += " \(path)\(query) HTTP/1.1\r\nHost: \(word(&random)).example\r\n"
        for _ in 0..<Int.random(in: 0...5, using: &random) {
            text += "X-\(word(&random)): \(word(&random)) \(word(&random))\r\n"
        }
        let body = (0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        guard Bool.random(using: &random) else {
            return latin1(text + "Content-Length: \(body.count)\r\n\r\n") + body
        }
        var bytes = latin1(text + "Transfer-Encoding: chunked\r\n\r\n")
        var rest = body[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...20, using: &random))
            rest = rest.dropFirst(piece.count)
            bytes += latin1(String(piece.count, radix: 16) + "\r\n") + piece + latin1("\r\n")
        }
        return bytes + latin1("0\r\n\r\n")
    }

    private static func word(_ random: inout SeededGenerator) -> String {
        String(
            (0..<Int.random(in: 1...12, using: &random)).map { _ in
                "abcdefghXYZ019-".randomElement(using: &random) ?? "a"
            })
    }
}

/// SplitMix64.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ mixed >> 27) &* 0x94d0_49bb_1331_11eb
        return mixed ^ mixed >> 31
    }
}
