import Foundation
import Glibc

/// Plays a case against a port of loopback and says what differs from its expectation. Blocking.
struct CaseRunner {
    private static let probe = "GET /echo?probe=1 HTTP/1.1\r\nHost: a.example\r\n\r\n"

    private let one: HTTPCase
    private let client: BlockingClient
    private let firstIsHead: Bool
    private var isHalfClosed = false
    private var problems: [String] = []

    static func problems(_ one: HTTPCase, port: UInt16) -> [String] {
        var runner = CaseRunner(one, port: port)
        runner.play()
        runner.judge()
        return runner.problems
    }

    private init(_ one: HTTPCase, port: UInt16) {
        self.one = one
        client = BlockingClient(port: port)
        firstIsHead = one.expect.wire.first_is_head == true || one.bytes.starts(with: Array("HEAD ".utf8))
    }

    private mutating func play() {
        for step in one.raw {
            switch step {
            case .bytes(let bytes): client.send(bytes)
            case .bytewise(let bytes): for byte in bytes { client.send([byte]) }
            case .pause(let milliseconds): usleep(UInt32(milliseconds) * 1_000)
            case .halfClose:
                client.finishWriting()
                isHalfClosed = true
            case .await100:
                while !latin1(client.received).hasPrefix("HTTP/1.1 100 "), client.receiveSome() {}
                if client.received.isEmpty { problems.append("no 100 before the content") }
            case .drip(let bytes, let every, let limit):
                client.limitReceiving(milliseconds: every)
                for byte in bytes.prefix(limit / every) where !client.hasEnded {
                    client.send([byte])
                    client.receiveSome()
                }
                // A deadline that each byte moves on would still be ahead.
                if !client.hasEnded { problems.append("open after the drip") }
                client.limitReceiving(milliseconds: 600_000)
            case .waitForClose(let milliseconds):
                client.limitReceiving(milliseconds: milliseconds)
                client.receiveToEnd()
                client.limitReceiving(milliseconds: 600_000)
            }
        }
    }

    private mutating func judge() {
        let expect = one.expect
        switch expect.then {
        case "keep" where !isHalfClosed:
            // The answer to one more request tells that the stream is in step and that nothing was left out.
            client.receive(expect.responses.upperBound, firstIsHead: firstIsHead)
            client.send(Self.probe)
            let answers = client.receive(expect.responses.upperBound + 1, firstIsHead: firstIsHead)
            guard let answers, latin1(answers.last?.body ?? []).contains("probe=1") else {
                problems.append("out of step after the case")
                break
            }
            judge(answers.dropLast())
            return
        case "any":
            client.receive(expect.responses.lowerBound, firstIsHead: firstIsHead)
            client.finishWriting()
            client.receiveToEnd()
        default:
            if !client.receiveToEnd() { problems.append("stays open") }
        }
        judge(WireResponse.parse(client.received, firstIsHead: firstIsHead).filter { $0.status >= 200 })
    }

    private mutating func judge(_ answers: [WireResponse]) {
        let expect = one.expect
        let isSilentClose = expect.orSilentClose && answers.isEmpty && client.hasEnded
        if !isSilentClose, !expect.responses.contains(answers.count) { problems.append("\(answers.count) answers") }
        if let first = answers.first, !expect.status.contains(first.status) {
            problems.append("status \(first.status)")
        }
        let echoes = answers.filter { $0.status == 200 }.compactMap {
            try? JSONSerialization.jsonObject(with: Data($0.body)) as? [String: Any]
        }
        if echoes.count > expect.maxAppRequests { problems.append("\(echoes.count) requests reached the application") }
        if echoes.contains(where: { ($0["path"] as? String ?? "").contains("smuggled") }) {
            problems.append("smuggled")
        }
        for (seen, echo) in zip(expect.seen, echoes) {
            for (key, value) in [
                ("method", seen.method), ("path", seen.path), ("query", seen.query), ("body", seen.body),
            ] where value != nil && value != echo[key] as? String {
                problems.append("\(key) is \(echo[key] ?? "missing")")
            }
            let headers = echo["headers"] as? [String: String] ?? [:]
            for (name, value) in seen.headers ?? [:] where headers[name] != value { problems.append("field \(name)") }
        }
        judgeWire(answers)
    }

    private mutating func judgeWire(_ answers: [WireResponse]) {
        let wire = one.expect.wire
        let all = WireResponse.parse(client.received, firstIsHead: firstIsHead)
        if wire.no_1xx == true, all.contains(where: { $0.status < 200 }) { problems.append("an interim answer") }
        if all.contains(where: { $0.status == 101 }) { problems.append("101") }
        if let text = wire.must_not_contain, latin1(client.received).contains(text) { problems.append("reflects") }
        guard let first = answers.first else { return }
        let names = first.fields.map(\.name)
        if let name = wire.must_have_header, !names.contains(name) { problems.append("no \(name)") }
        if let name = wire.must_not_have_header, names.contains(name) { problems.append("has \(name)") }
        // Of every answer, whether the case asks or not.
        if Set(names).count != names.count { problems.append("a repeated field") }
        if names.contains("transfer-encoding") { problems.append("a transfer coding") }
        if names.contains("content-length") == (first.status == 204) { problems.append("Content-Length") }
        if names.contains("server") { problems.append("Server") }
        if first.field("date") != "Fri, 15 Jan 2027 08:00:00 GMT" { problems.append("Date") }
        if wire.head_len_matches == true, first.field("content-length") != answers.last?.field("content-length") {
            problems.append("HEAD's length")
        }
    }
}
