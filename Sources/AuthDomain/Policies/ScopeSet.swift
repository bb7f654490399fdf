/// Scope names in the order given, each once. Source: RFC 6749 §3.3.
package struct ScopeSet: Equatable, Sendable, CustomStringConvertible {
    package private(set) var names: [String]

    package init(_ names: [String]) {
        self.names = []
        for name in names where !self.names.contains(name) { self.names.append(name) }
    }

    /// `nil` when a name has a character that RFC 6749 §3.3 does not allow, or when there is none.
    package init?(parsing text: String) {
        let names = text.split(separator: " ").map(String.init)
        let isValid = names.allSatisfy { name in
            name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
        }
        guard isValid, !names.isEmpty else { return nil }
        self.init(names)
    }

    package var isEmpty: Bool { names.isEmpty }

    package func contains(_ other: ScopeSet) -> Bool { other.names.allSatisfy(names.contains) }

    package func subtracting(_ other: ScopeSet) -> ScopeSet { ScopeSet(names.filter { !other.names.contains($0) }) }

    package func intersection(_ other: ScopeSet) -> ScopeSet { ScopeSet(names.filter(other.names.contains)) }

    package var description: String { names.joined(separator: " ") }
}
