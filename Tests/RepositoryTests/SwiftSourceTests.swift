import Testing

@Suite("Reading Swift for the house rules")
struct SwiftSourceTests {
    @Test("comments and literals leave the code, and lines keep their numbers")
    func blanking() {
        let source = SwiftSource(
            path: "Sources/X/Y.swift",
            text: """
                let a = "b" // c
                /* d /* e */
                f */ let g = \"""
                    h "quoted" \\(i + "j") k
                    \"""
                let l = #"m \\(n) "o" "# + #if
                """)
        #expect(source.code.split(separator: "\n", omittingEmptySubsequences: false).count == 6)
        #expect(source.code.filter { $0.isLetter } == "letaletgiletlif")
        #expect(source.literals.map(\.line) == [1, 4, 3, 6])
        #expect(source.literals.map(\.text).contains("j"))
        #expect(source.literals.last?.text == "m \\(n) \"o\" ")
    }

    @Test("an escaped quote does not end a literal")
    func escapedQuote() {
        let source = SwiftSource(path: "Sources/X/Y.swift", text: #"let a = "b\"c\\"; let d = 1"#)
        #expect(source.literals.map(\.text) == [#"b\"c\\"#])
        #expect(source.code.contains("let d = 1"))
    }
}
