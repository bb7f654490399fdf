/// A path with named parts: `/auth/devices/{id}`.
///
/// Each part is a literal or one parameter; a parameter matches any one part that `RequestTarget.segments` knows.
package struct RoutePattern: Hashable, Sendable, CustomStringConvertible {
    package enum Part: Hashable, Sendable {
        case literal(String)
        case parameter(String)
    }

    package let text: String
    package let parts: [Part]

    /// - Returns: `nil` when the text has no leading slash, an empty part, a stray brace or a name twice.
    package init?(_ text: String) {
        guard text.hasPrefix("/") else { return nil }
        var parts: [Part] = []
        for piece in text == "/" ? [] : text.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            let isParameter = piece.hasPrefix("{") && piece.hasSuffix("}") && piece.count > 2
            let name = isParameter ? piece.dropFirst().dropLast() : piece
            guard !name.isEmpty, !name.contains("{"), !name.contains("}") else { return nil }
            let part = isParameter ? Part.parameter(String(name)) : Part.literal(String(name))
            guard !isParameter || !parts.contains(part) else { return nil }
            parts.append(part)
        }
        self.text = text
        self.parts = parts
    }

    package var description: String { text }

    package var parameterNames: [String] {
        parts.compactMap { if case .parameter(let name) = $0 { name } else { nil } }
    }
}

extension RoutePattern: ExpressibleByStringLiteral {
    /// - Precondition: a pattern; the patterns in our code are ours to get right.
    package init(stringLiteral literal: String) {
        guard let pattern = RoutePattern(literal) else { preconditionFailure("not a route pattern") }
        self = pattern
    }
}
