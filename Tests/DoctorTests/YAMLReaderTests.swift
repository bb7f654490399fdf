import Foundation
import Testing

@testable import Doctor

@Suite("YAML as PowerSync reads it")
struct YAMLReaderTests {
    private static func map(_ entries: (String, YAMLValue)...) -> YAMLValue {
        .mapping(entries.map { YAMLValue.Entry(key: $0.0, value: $0.1) })
    }

    @Test(
        "what is read",
        arguments: [
            ("", .null), ("# c", .null), ("---\n...\n", .null), ("word", .text("word")),
            ("a: b", map(("a", .text("b")))),
            ("a: 'b # c' # d", map(("a", .text("b # c")))), ("a: http://h:1/p#f", map(("a", .text("http://h:1/p#f")))),
            ("\u{feff}a: b\r\nc: d\r\n", map(("a", .text("b")), ("c", .text("d")))),
            ("a:\n- x\nb: y", map(("a", .list([.text("x")])), ("b", .text("y")))),
            ("a:\n  - k: 1\n    l: 2", map(("a", .list([map(("k", .number("1")), ("l", .number("2")))])))),
            ("a: [x, 'y, z', [u]]", map(("a", .list([.text("x"), .text("y, z"), .list([.text("u")])])))),
            ("a: {k: v,\n  l: [1,\n ]}", map(("a", map(("k", .text("v")), ("l", .list([.number("1")])))))),
            ("a: |\n  x: y\n   z\nb: >-\n  c\n  d", map(("a", .text("x: y\n z\n")), ("b", .text("c d")))),
            (#""a": "b\n\u00e4\"""#, map(("a", .text("b\nä\"")))), ("'a': 'it''s'", map(("a", .text("it's")))),
            ("a: &x [1]\nb: *x", map(("a", .list([.number("1")])), ("b", .list([.number("1")])))),
            ("a: &x 1\nb: &x 2\nc: *x", map(("a", .number("1")), ("b", .number("2")), ("c", .number("2")))),
            // YAML 1.2 has no merge keys.
            (
                "a: &x {k: 1}\nb:\n  <<: *x",
                map(("a", map(("k", .number("1")))), ("b", map(("<<", map(("k", .number("1")))))))
            ),
            ("a: !env PS_X", map(("a", .environment("PS_X")))),
            ("a: !env 'PS_X::number'", map(("a", .environment("PS_X::number")))),
            (
                "a: !!str 1\nb: ! 2\nc: !own 3\nd: !!int 4",
                map(("a", .text("1")), ("b", .text("2")), ("c", .text("3")), ("d", .number("4")))
            ),
            ("? [k]\n: v\na: b", map(("a", .text("b")))), ("a:\nb: ~", map(("a", .null), ("b", .null))),
            (#"{"a": [true, null, 7]}"#, map(("a", .list([.boolean(true), .null, .number("7")])))),
        ] as [(String, YAMLValue)])
    func read(source: String, value: YAMLValue) throws {
        #expect(try YAMLReader.read(Array(source.utf8)) == value)
    }

    @Test(
        "plain scalars are what the core schema says, and quoted ones are text",
        arguments: [
            ("null", .null), ("NULL", .null), ("nULL", .text("nULL")), ("true", .boolean(true)),
            ("True", .boolean(true)),
            ("FALSE", .boolean(false)), ("yes", .text("yes")), ("on", .text("on")), ("n", .text("n")),
            ("0", .number("0")),
            ("-12", .number("-12")), ("+1", .number("+1")), ("0o17", .number("0o17")), ("0o8", .text("0o8")),
            ("017", .number("017")), ("0x1F", .number("0x1F")), ("0x", .text("0x")), ("1.5e-3", .number("1.5e-3")),
            (".5", .number(".5")), ("1.", .number("1.")), ("1e", .text("1e")), ("-.inf", .number("-.inf")),
            (".NaN", .number(".NaN")), ("-", .text("-")), (".", .text(".")), ("1_000", .text("1_000")),
            ("190:20:30", .text("190:20:30")), ("2001-01-01", .text("2001-01-01")), ("١", .text("١")),
        ] as [(String, YAMLValue)])
    func coreSchema(text: String, value: YAMLValue) throws {
        #expect(YAMLValue(plain: text) == value)
        #expect(try YAMLReader.read(Array("'\(text)'".utf8)) == .text(text))
    }

    @Test(
        "what is refused, with its line",
        arguments: [
            ("a:\n\tb: c", 2), ("a: 1\nb: *x", 2), ("a: &x [*x]", 1), ("a: [b", 1), ("a: [b] c", 1),
            ("a:\n    b: 1\n  c: 2", 3),
            ("a: 1\nb: 2\na: 3", 3), ("a: 1\n'a': 3", 2), ("x: {k: 1, k: 2}", 1), ("a: 1\n---\nb: 2", 2),
            ("a: \u{1}", 1),
            ("a: 'b", 1), ("a: \"\\q\"", 1), ("%YAML 3.0\n---\na", 1), ("a: @b", 1),
        ])
    func refused(source: String, line: Int) throws {
        let fault = #expect(throws: YAMLReader.Fault.self) { try YAMLReader.read(Array(source.utf8)) }
        // An open quote or bracket is noticed at the end of the file.
        #expect(
            fault?.line == line || source.hasPrefix("a: [b") || source.hasPrefix("a: 'b"),
            "\(String(describing: fault))")
    }

    @Test("names are compared byte by byte, so two that only look alike are two")
    func exactNames() throws {
        #expect(throws: Never.self) { try YAMLReader.read(Array("e\u{301}: 1\n\u{e9}: 2".utf8)) }
    }

    /// Files of an operator's machine, but any file.
    private static let hostile: [(name: String, bytes: [UInt8], sentence: String)] = [
        ("large", [UInt8](repeating: 0x61, count: 1 << 20 + 1), "larger than 1 MiB"),
        ("deep flow", Array(String(repeating: "[", count: 100_000).utf8), "64 levels"),
        (
            "deep blocks",
            Array((0..<70).map { String(repeating: " ", count: $0) + "a:" }.joined(separator: "\n").utf8), "64 levels"
        ),
        ("laughs", laughs, "values, aliases counted"),
        ("wide", Array(("- a\n" + String(repeating: "- b\n", count: 30_000)).utf8), "values, aliases counted"),
        ("UTF-16 with its mark", [0xff, 0xfe] + "a: b".utf16.flatMap { [UInt8($0 & 255), 0] }, "UTF-16"),
        ("UTF-16, the other order", [0xfe, 0xff] + "a: b".utf16.flatMap { [0, UInt8($0 & 255)] }, "UTF-16"),
        ("UTF-16 without its mark", "a: b".utf16.flatMap { [UInt8($0 & 255), 0] }, "UTF-16"),
        ("NUL", Array("a: \u{0}".utf8), "no text"),
    ]

    private static let laughs: [UInt8] = {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1..<30 {
            let uses = Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
            text += "a\(level): &a\(level) [\(uses)]\n"
        }
        return Array(text.utf8)
    }()

    @Test("a file made to be too much is refused in a sentence", arguments: hostile.indices)
    func bounds(index: Int) {
        let (name, bytes, sentence) = Self.hostile[index]
        let fault = #expect(throws: YAMLReader.Fault.self, "\(name)") { try YAMLReader.read(bytes) }
        #expect(fault?.sentence.contains(sentence) ?? false, "\(name): \(String(describing: fault))")
    }

    @Test("a long text, and bytes that are not UTF-8 in a comment, are read")
    func tolerated() throws {
        let long = String(repeating: "x", count: 900_000)
        #expect(try YAMLReader.read(Array("a: \(long)".utf8))["a"] == .text(long))
        #expect(try YAMLReader.read(Array("a: b # f".utf8) + [0xfc] + Array("r\n".utf8))["a"] == .text("b"))
    }

    @Test("no cut of a file and no changed byte makes the reader fall over")
    func mutations() {
        let source = Array(
            "a:\n  - k: {b: [1, '2']} # c\n    l: !env X\n  - &q \"q\": |\n      text\n%x: *q\n? [z]\n: !!str ä\n".utf8)
        for end in source.indices {
            _ = try? YAMLReader.read(Array(source[..<end]))
            for byte: UInt8 in [0x00, 0x09, 0x0a, 0x21, 0x22, 0x26, 0x2a, 0x3a, 0x5b, 0x7b, 0x7c, 0x80, 0xff] {
                var changed = source
                changed[end] = byte
                _ = try? YAMLReader.read(changed)
            }
        }
    }
}
