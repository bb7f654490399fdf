/// A request method: a token, compared with its case.
///
/// Source: RFC 9110 §9.1.
package struct HTTPMethod: Hashable, Sendable, CustomStringConvertible {
    package let name: String

    /// - Returns: `nil` when the text is not a token.
    package init?(_ name: String) {
        guard ByteSet.token.holds(name.utf8) else { return nil }
        self.name = name
    }

    /// For a name that was tested already.
    init(tested name: String) {
        self.name = name
    }

    package static let get = HTTPMethod(tested: "GET")
    package static let head = HTTPMethod(tested: "HEAD")
    package static let post = HTTPMethod(tested: "POST")
    package static let put = HTTPMethod(tested: "PUT")
    package static let patch = HTTPMethod(tested: "PATCH")
    package static let delete = HTTPMethod(tested: "DELETE")
    package static let options = HTTPMethod(tested: "OPTIONS")

    package var description: String { name }
}
