import JSON
import Testing

@Suite("JSON writer")
struct JSONWriterTests {
    @Test(
        "the text is compact, ordered and minimally escaped",
        arguments: [
            (.null, "null"), (true, "true"), (false, "false"), (0, "0"), (-7, "-7"),
            (.integer(.max), "9223372036854775807"), (.integer(.min), "-9223372036854775808"),
            ([], "[]"), ([:], "{}"), ([1, "a", [nil]], #"[1,"a",[null]]"#),
            (["b": 1, "a": ["z": true, "y": false]], #"{"b":1,"a":{"z":true,"y":false}}"#),
            ("https://a/b", #""https://a/b""#), ("é€😀\u{7f}", "\"é€😀\u{7f}\""), ("\"\\", #""\"\\""#),
            ("\u{8}\t\n\u{c}\r", #""\b\t\n\f\r""#), ("\0\u{1}\u{1f}", #""\u0000\u0001\u001f""#),
            ("a\u{2028}b\u{2029}c\u{2027}\u{202a}", "\"a\\u2028b\\u2029c\u{2027}\u{202a}\""),
            (["\"": 1], #"{"\"":1}"#),
        ] as [(JSONValue, String)])
    func text(value: JSONValue, text: String) throws {
        #expect(String(decoding: value.encoded(), as: UTF8.self) == text)
        #expect(try JSONParser.parse(value.encoded()) == value)
    }

    @Test("no control character stands bare", arguments: UInt8(0)...0x1f)
    func controls(byte: UInt8) throws {
        let value = JSONValue.string("x" + String(Unicode.Scalar(byte)) + "y")
        #expect(!value.encoded().contains(byte))
        #expect(try JSONParser.parse(value.encoded()) == value)
    }

    @Test("numbers are written as they were read", arguments: ["1.0", "-0", "1E+3", "18446744073709551616"])
    func numbers(literal: String) throws {
        #expect(try JSONParser.parse(literal.utf8).encoded() == Array(literal.utf8))
    }

    @Test("only finite doubles become numbers")
    func doubles() throws {
        #expect(JSONNumber(.infinity) == nil)
        #expect(JSONNumber(.nan) == nil)
        for value in [0.5, -1e300, .leastNonzeroMagnitude, 1e20, 3] {
            let number = try #require(JSONNumber(value))
            let parsed = try JSONParser.parse(JSONValue.number(number).encoded())
            #expect(parsed.doubleValue == value)
        }
    }

    @Test("writing appends to what is there")
    func appends() {
        var bytes = Array("x".utf8)
        JSONObject([("a", 1)]).encoded(into: &bytes)
        JSONValue.bool(true).encoded(into: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == #"x{"a":1}true"#)
    }
}
