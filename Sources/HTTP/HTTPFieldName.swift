/// A field name that is a token: as written, and in lower case for comparing.
///
/// Source: RFC 9110 §5.1.
package struct HTTPFieldName: Sendable, CustomStringConvertible {
    /// As written.
    package let raw: String
    /// In lower case.
    package let canonical: String

    /// - Returns: `nil` when the text is not a token.
    package init?(_ raw: String) {
        guard ByteSet.token.holds(raw.utf8) else { return nil }
        self.raw = raw
        canonical = String(decoding: raw.utf8.map(lowercased), as: UTF8.self)
    }

    package var description: String { raw }
}

extension HTTPFieldName: Hashable {
    package static func == (left: HTTPFieldName, right: HTTPFieldName) -> Bool { left.canonical == right.canonical }
    package func hash(into hasher: inout Hasher) { hasher.combine(canonical) }
}

extension HTTPFieldName: ExpressibleByStringLiteral {
    /// - Precondition: a token; the names in our code are ours to get right.
    package init(stringLiteral literal: String) {
        guard let name = HTTPFieldName(literal) else { preconditionFailure("not a field name") }
        self = name
    }
}
