/// A Swift file, taken apart far enough for the house rules: code without comments and literals, and the literals.
///
/// Not a parser: regular expression literals between slashes are taken for code.
struct SwiftSource {
    let path: String
    let text: String
    /// The text with every comment and the inside of every string literal blanked; lines keep their numbers.
    let code: String
    /// The string literals in the order of their ends, with the line each starts on; interpolations left out.
    let literals: [(text: String, line: Int)]

    init(path: String, text: String) {
        self.path = path
        self.text = text
        var scanner = Scanner(text)
        scanner.scanCode(untilParenthesis: false)
        code = String(decoding: scanner.code, as: UTF8.self)
        literals = scanner.literals
    }

    var lineCount: Int { text.split(separator: "\n", omittingEmptySubsequences: false).count - 1 }

    /// The folder below `Sources` or `Tests`.
    var module: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }
}

private struct Scanner {
    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    private(set) var code: [UInt8] = []
    private(set) var literals: [(text: String, line: Int)] = []

    init(_ text: String) {
        bytes = Array(text.utf8)
        code.reserveCapacity(bytes.count)
    }

    /// To the end, or to the parenthesis that closes an interpolation.
    mutating func scanCode(untilParenthesis: Bool) {
        var depth = 0
        while let byte = peek() {
            if starts(with: "//") {
                while let next = peek(), next != UInt8(ascii: "\n") { blank() }
            } else if starts(with: "/*") {
                skipBlockComment()
            } else if byte == UInt8(ascii: "\"") || (byte == UInt8(ascii: "#") && isRawLiteral) {
                scanLiteral()
            } else {
                if byte == UInt8(ascii: "(") { depth += 1 }
                if byte == UInt8(ascii: ")") {
                    if untilParenthesis, depth == 0 { return }
                    depth -= 1
                }
                keep()
            }
        }
    }

    private mutating func skipBlockComment() {
        var depth = 0
        repeat {
            if starts(with: "/*") {
                depth += 1
                blank(2)
            } else if starts(with: "*/") {
                depth -= 1
                blank(2)
            } else {
                blank()
            }
        } while depth > 0 && peek() != nil
    }

    private mutating func scanLiteral() {
        let start = line
        var pounds = 0
        while peek() == UInt8(ascii: "#") {
            pounds += 1
            keep()
        }
        let quotes = starts(with: "\"\"\"") ? "\"\"\"" : "\""
        for _ in quotes.utf8 { keep() }
        let escape = "\\" + String(repeating: "#", count: pounds)
        let end = quotes + String(repeating: "#", count: pounds)
        var content: [UInt8] = []
        while let byte = peek(), !starts(with: end) {
            if starts(with: escape + "(") {
                for _ in 0...escape.utf8.count { blank() }
                scanCode(untilParenthesis: true)
                if peek() != nil { blank() }
                content.append(UInt8(ascii: " "))
            } else if starts(with: escape) {
                content += bytes[position..<min(position + escape.utf8.count + 1, bytes.count)]
                blank(escape.utf8.count + 1)
            } else {
                content.append(byte)
                blank()
            }
        }
        for _ in end.utf8 where peek() != nil { keep() }
        literals.append((String(decoding: content, as: UTF8.self), start))
    }

    /// `#"` or `##"`, and not a directive such as `#if`.
    private var isRawLiteral: Bool {
        var next = position
        while next < bytes.count, bytes[next] == UInt8(ascii: "#") { next += 1 }
        return next < bytes.count && bytes[next] == UInt8(ascii: "\"")
    }

    private func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    private func starts(with text: String) -> Bool { bytes[position...].starts(with: text.utf8) }

    private mutating func keep() {
        if bytes[position] == UInt8(ascii: "\n") { line += 1 }
        code.append(bytes[position])
        position += 1
    }

    private mutating func blank(_ count: Int = 1) {
        for _ in 0..<count where position < bytes.count {
            if bytes[position] == UInt8(ascii: "\n") {
                keep()
            } else {
                code.append(UInt8(ascii: " "))
                position += 1
            }
        }
    }
}
