import JSON
import Testing

@Suite("JSON parser")
struct JSONParserTests {
    private func parse(_ text: String, limits: JSONLimits = .standard) throws(JSONError) -> JSONValue {
        try JSONParser.parse(Array(text.utf8), limits: limits)
    }

    @Test(
        "every kind of value is read",
        arguments: [
            ("null", .null), ("true", true), (" false\n", false), ("0", 0), ("-1", -1),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("\"\"", ""), ("[]", []), ("[ ]", []), ("{}", [:]), ("{ }", [:]),
            ("[1, [2], {\"a\": null}]", [1, [2], ["a": nil]]),
            ("\t{ \"b\" : 1 ,\r\n\"a\" : [ ] } ", ["b": 1, "a": []]),
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
            (#""\u0041\u00e9\u20AC\ud83d\uDE00\u0000""#, "Aé€😀\0"),
            ("\"é€😀\u{7f}\"", "é€😀\u{7f}"),
        ] as [(String, JSONValue)])
    func accepted(text: String, value: JSONValue) throws {
        #expect(try parse(text) == value)
    }

    @Test(
        "a number that is no plain 64-bit integer keeps its text",
        arguments: ["1.0", "-0", "0.5", "1e3", "1E+3", "1e-3", "-0.0e0", "9223372036854775808", "1e400"])
    func numbers(text: String) throws {
        guard case .number(let number) = try parse(text) else {
            Issue.record("\(text) is no number")
            return
        }
        #expect(number.literal == text)
        #expect(try parse(text).integerValue == nil)
        #expect(number.doubleValue == (text == "1e400" ? nil : Double(text)))
    }

    @Test(
        "what is not JSON is refused where the fault is",
        arguments: [
            ("", 0), (" ", 1), ("nul", 3), ("nulL", 3), ("True", 0), ("NaN", 0), ("Infinity", 0), ("-", 1), ("-a", 1),
            ("01", 1), ("-01", 2), ("1.", 2), (".5", 0), ("+1", 0), ("1e", 2), ("1e+", 3), ("0x10", 1), ("1 2", 2),
            ("[1,]", 3), ("[,1]", 1), ("[1 2]", 3), ("[1", 2), ("]", 0), ("{\"a\":1,}", 7), ("{\"a\" 1}", 5),
            ("{\"a\":}", 5), ("{a:1}", 1), ("{1:1}", 1), ("{'a':1}", 1), ("{\"a\":1", 6), ("{\"a\"", 4), ("{", 1),
            ("\"", 1), ("\"\\x\"", 2), ("\"\\", 2), ("\"\\u12\"", 5), ("\"\\u12g4\"", 5), ("\"a\nb\"", 2),
            ("\"\0\"", 1), ("{}{}", 2), ("{}//", 2), ("[1/**/]", 2), ("\u{feff}{}", 0), ("\u{a0}1", 0),
        ])
    func refused(text: String, offset: Int) {
        #expect(throws: JSONError.malformed(offset: offset)) { try parse(text) }
    }

    @Test(
        "escapes that name half a character are refused",
        arguments: [
            #""\ud800""#, #""\udc00""#, #""\ud800\ud800""#, #""\udc00\ud800""#, #""\ud800x""#, #""\ud83d\u0041""#,
        ])
    func loneSurrogates(text: String) {
        #expect(throws: JSONError.self) { try parse(text) }
    }

    @Test(
        "bytes that are not UTF-8 are refused",
        arguments: [
            [0x22, 0xff, 0x22], [0x22, 0xc0, 0xaf, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xc3, 0x22],
            [0x22, 0xf4, 0x90, 0x80, 0x80, 0x22], [0x22, 0x5c, 0x6e, 0xff, 0x22], [0xff], [0xef, 0xbb, 0xbf, 0x31],
        ] as [[UInt8]])
    func invalidUTF8(bytes: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONParser.parse(bytes) }
    }

    @Test(
        "a repeated name is refused at every level, escapes decoded first",
        arguments: [
            #"{"a":1,"a":1}"#, #"{"a":1,"b":2,"\u0061":1}"#, #"[{"x":{"k":1,"k":2}}]"#, #"{"":1,"":2}"#,
        ])
    func duplicates(text: String) {
        #expect(throws: JSONError.duplicateMember) { try parse(text) }
    }

    @Test("a repeated name is found among many", arguments: [15, 16, 17, 40])
    func duplicateAmongMany(count: Int) {
        let members = (0..<count).map { "\"k\($0)\":\($0)" }
        for index in [0, count / 2, count - 1] {
            let text = "{" + (members + ["\"k\(index)\":0"]).joined(separator: ",") + "}"
            #expect(throws: JSONError.duplicateMember) { try parse(text) }
        }
        #expect(throws: Never.self) { try parse("{" + members.joined(separator: ",") + "}") }
    }

    @Test("names that only look the same are two names")
    func canonicalEquivalence() throws {
        let value = try parse("{\"K\":1,\"\u{212a}\":2}")
        #expect(value.objectValue?["K"] == 1)
        #expect(value.objectValue?["\u{212a}"] == 2)
    }

    @Test("depth 32 is read, 33 is refused, and two thousand levels are no crash")
    func depth() throws {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(throws: Never.self) { try parse(nested(32)) }
        #expect(throws: JSONError.tooDeep) { try parse(nested(33)) }
        #expect(throws: JSONError.tooDeep) { try parse(String(repeating: "{\"a\":", count: 2000)) }
        let wide = "[" + Array(repeating: nested(31), count: 100).joined(separator: ",") + "]"
        #expect(throws: Never.self) { try parse(wide) }
    }

    @Test("a text over the size limit is refused, one at the limit is read")
    func size() {
        let limits = JSONLimits(bytesMax: 4, depthMax: 1)
        #expect(throws: Never.self) { try parse("null", limits: limits) }
        #expect(throws: JSONError.tooLarge) { try parse("null ", limits: limits) }
    }

    @Test("no prefix of a document is a document")
    func prefixes() {
        let text = Array(#"{"a":[1,-2.5e3,"x\u00e9\n",{"b":null}],"c":true}"#.utf8)
        for count in 0..<text.count {
            #expect(throws: JSONError.self) { try JSONParser.parse(text.prefix(count)) }
        }
        #expect(throws: Never.self) { try JSONParser.parse(text) }
    }

    @Test("whatever one changed byte still makes a document is written back as the same document")
    func mutations() throws {
        let text = Array(#"{"a":[1,-2.5e3,"x\u00e9\n",{"b":null}],"c":true}"#.utf8)
        var readable = 0
        for index in text.indices {
            for byte in UInt8.min...UInt8.max {
                var changed = text
                changed[index] = byte
                guard let value = try? JSONParser.parse(changed) else { continue }
                readable += 1
                #expect(try JSONParser.parse(value.encoded()) == value)
            }
        }
        #expect(readable > text.count)
    }
}
