import Testing

@testable import Doctor

@Suite("YAML as settings files have it")
struct YAMLReaderTests {
    private static func text(_ text: String, _ tag: String? = nil) -> YAMLValue { .scalar(text, tag: tag) }

    @Test(
        "what is read",
        arguments: [
            ("a: b", .mapping([("a", text("b"))])), ("a: 'b # c' # d", .mapping([("a", text("b # c"))])),
            ("a: http://h:1/p#f", .mapping([("a", text("http://h:1/p#f"))])),
            (
                "---\n# c\na:\n  b: 1\n\n  c: \"2\"\nd:",
                .mapping([
                    ("a", .mapping([("b", text("1")), ("c", text("2"))])), ("d", text("")),
                ])
            ),
            ("a:\n  - x\n  - y", .mapping([("a", .list([text("x"), text("y")]))])),
            ("a:\n- x\nb: y", .mapping([("a", .list([text("x")])), ("b", text("y"))])),
            (
                "a:\n  - k: 1\n    l: 2\n  - k: 3",
                .mapping([
                    ("a", .list([.mapping([("k", text("1")), ("l", text("2"))]), .mapping([("k", text("3"))])]))
                ])
            ),
            ("a: [x, 'y, z', [u]]", .mapping([("a", .list([text("x"), text("y, z"), .list([text("u")])]))])),
            ("a: {k: v, l: [1]}", .mapping([("a", .mapping([("k", text("v")), ("l", .list([text("1")]))]))])),
            ("a: []", .mapping([("a", .list([]))])), ("a: !env PS_X", .mapping([("a", text("PS_X", "!env"))])),
            ("a: |\n  x: y\n   z\nb: c", .mapping([("a", text("")), ("b", text("c"))])),
            ("\"a\": b", .mapping([("a", text("b"))])), ("", .mapping([])),
            (#"{"a": [true, null, 7]}"#, .mapping([("a", .list([text("true"), text(""), text("7")]))])),
        ] as [(String, YAMLValue)])
    func read(source: String, value: YAMLValue) throws {
        #expect(try YAMLReader.read(source) == value)
    }

    @Test(
        "what is refused, with its line",
        arguments: [
            ("a:\n\tb: c", 2), ("a: &x b", 1), ("a: 1\nb: *x", 2), ("a: [b", 1), ("a: [b] c", 1), ("word", 1),
            ("a:\n    b: 1\n  c: 2", 3), ("a: {b}", 1),
        ])
    func refused(source: String, line: Int) {
        #expect { try YAMLReader.read(source) } throws: { ($0 as? YAMLReader.Fault)?.line == line }
    }

    @Test("no cut of a file makes the reader fall over")
    func cuts() {
        let source = "a:\n  - k: {b: [1, '2']} # c\n    l: !env X\n  - \"q\": |\n      text\n"
        for end in source.indices { _ = try? YAMLReader.read(String(source[..<end])) }
    }
}
