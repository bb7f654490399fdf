import JSON
import Testing

@Suite("JSON object")
struct JSONObjectTests {
    @Test("setting replaces in place, appends what is new, and removes by nil")
    func setting() {
        var object: JSONObject = ["a": 1, "b": 2, "c": 3]
        object["b"] = "two"
        object["d"] = nil
        object["e"] = .null
        object["a"] = nil
        #expect(object.names == ["b", "c", "e"])
        #expect(object["b"] == "two")
        #expect(object["e"] == .some(.null))
        #expect(object["a"] == nil)
        #expect(object.count == 3)
        #expect(!object.isEmpty && JSONObject().isEmpty)
    }

    @Test("objects are equal with the same members in the same order")
    func equality() {
        let object: JSONObject = ["a": 1, "b": 2]
        #expect(object == ["a": 1, "b": 2])
        #expect(object != ["b": 2, "a": 1])
        #expect(object != ["a": 1])
        #expect(object != ["a": 1, "b": 3])
    }

    @Test("text is compared by bytes and not by canonical equivalence")
    func exactText() {
        #expect("K" == "\u{212a}")
        #expect(JSONValue.string("K") != .string("\u{212a}"))
        #expect(!areIdentical("\u{e9}", "e\u{301}"))
        #expect(areIdentical("\u{e9}", "\u{e9}"))
        #expect(Set([ExactText("K"), ExactText("\u{212a}"), ExactText("K")]).count == 2)
        let object: JSONObject = ["K": 1]
        #expect(object["\u{212a}"] == nil)
    }

    @Test("a value shows itself only as what it is")
    func access() {
        let values: [JSONValue] = [nil, true, 1, "s", [], [:]]
        #expect(values.map(\.isNull) == [true, false, false, false, false, false])
        #expect(values.map { $0.boolValue != nil } == [false, true, false, false, false, false])
        #expect(values.map { $0.integerValue != nil } == [false, false, true, false, false, false])
        #expect(values.map { $0.stringValue != nil } == [false, false, false, true, false, false])
        #expect(values.map { $0.arrayValue != nil } == [false, false, false, false, true, false])
        #expect(values.map { $0.objectValue != nil } == [false, false, false, false, false, true])
        #expect(values.map { $0.doubleValue != nil } == [false, false, true, false, false, false])
    }
}
