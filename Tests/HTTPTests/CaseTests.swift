import HTTP
import Testing

/// Each case of the fixtures through the parser and the echo application's rules, without a socket.
@Suite("Case bank, parser")
struct CaseTests {
    /// The echo application's own.
    static let limits = HTTPLimits(bodyBytesMax: 1_048_576)
    /// Nothing of these is in the bytes: deadlines, and a client that does not read.
    static let needsSocket: Set<String> = ["limit-016", "limit-017", "limit-018", "limit-019", "limit-021"]
    static let judged = HTTPCase.all.filter { !needsSocket.contains($0.id) }

    @Test("every case is run here or is named as one that needs a socket")
    func countsAddUp() {
        #expect(HTTPCase.all.count == 325)
        #expect(Set(HTTPCase.all.map(\.id)).count == 325)
        #expect(Self.judged.count + Self.needsSocket.count == HTTPCase.all.count)
        #expect(Set(HTTPCase.all.filter { $0.needs != nil }.map(\.id)) == Self.needsSocket)
    }

    @Test("the parser's verdict is what the case expects", arguments: judged)
    func verdict(_ one: HTTPCase) throws {
        var outcome = Outcome(ParserHarness.run(one.bytes, limits: Self.limits))
        if case .halfClose? = one.raw.last { outcome.closes = true }
        let expect = one.expect
        if !(expect.orSilentClose && outcome.statuses.isEmpty && outcome.closes) {
            #expect(expect.responses.contains(outcome.statuses.count))
        }
        if let first = outcome.statuses.first { #expect(expect.status.contains(first)) }
        #expect(outcome.echoed.count <= expect.maxAppRequests)
        switch expect.then {
        case "close": #expect(outcome.closes)
        case "keep": #expect(!outcome.closes)
        default: break
        }
        guard outcome.statuses.first == 200 else { return }
        #expect(outcome.echoed.count >= expect.seen.count)
        for (request, seen) in zip(outcome.echoed, expect.seen) {
            #expect(seen.method == nil || seen.method == request.method.name)
            #expect(seen.path == nil || seen.path == request.target.path)
            #expect(seen.query == nil || seen.query == request.target.query ?? "")
            #expect(seen.body == nil || seen.body == latin1(request.body))
            for (name, value) in seen.headers ?? [:] { #expect(request.fields[name] == value) }
        }
    }

    @Test("every way to cut the stream gives the same events", arguments: judged)
    func splits(_ one: HTTPCase) {
        let bytes = one.bytes
        let whole = ParserHarness.run(bytes, limits: Self.limits)
        #expect(ParserHarness.runBytewise(bytes, limits: Self.limits) == whole)
        let different = ParserHarness.splits(of: bytes.count).filter {
            ParserHarness.run(bytes, splitAt: $0, limits: Self.limits) != whole
        }
        #expect(different.isEmpty)
    }
}

/// What a server around the parser would answer.
private struct Outcome {
    var statuses: [Int] = []
    var echoed: [HTTPRequest] = []
    var closes = false

    init(_ transcript: ParserHarness.Transcript) {
        for (request, keeps) in zip(transcript.requests, transcript.keepsConnection) where !closes {
            let status = EchoApplication.answer(to: request).status.code
            statuses.append(status)
            if status == 200 { echoed.append(request) }
            closes = !keeps
        }
        guard !closes else { return }
        if let error = transcript.error { statuses.append(error.status.code) }
        closes = transcript.error != nil || transcript.isCut
    }
}
