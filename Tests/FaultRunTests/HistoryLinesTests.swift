import FaultRun
import Testing

@Suite("History lines")
struct HistoryLinesTests {
    @Test("a history is read back as it was written")
    func roundTrip() throws {
        let history = ModelServer.history(nil, seed: 1)
        #expect(history.lines.split(separator: "\n").count == history.operations.count + history.faults.count + 20)
        let read = try History(lines: history.lines)
        #expect(read == history)
        #expect(RotationChecker().violations(in: read).isEmpty)
    }

    @Test(
        "a line that is no part of a history is refused by its number",
        arguments: [
            "no JSON", "[]", "{}", #"{"event":"else"}"#, #"{"event":"fault","name":"a","start":1}"#,
            #"{"event":"operation","kind":"unheard of","actor":"owner","family":"f","server":0,"start":1,"end":2}"#,
            #"{"event":"row","family":"f","generation":"1","restorations":0}"#,
        ])
    func refused(line: String) {
        let first = #"{"event":"fault","name":"a","start":1,"end":2,"excuses":1}"#
        #expect(throws: History.LineError.unreadable(line: 2)) { try History(lines: first + "\n" + line) }
    }
}
