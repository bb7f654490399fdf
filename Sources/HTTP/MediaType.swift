/// `type/subtype; name=value`, with type, subtype and parameter names in lower case.
///
/// Source: RFC 9110 §8.3.1 and §5.6.6.
package struct MediaType: Hashable, Sendable, CustomStringConvertible {
    package struct Parameter: Hashable, Sendable {
        package let name: String
        package let value: String
    }

    package let type: String
    package let subtype: String
    package let parameters: [Parameter]

    package static let json = "application/json"
    package static let form = "application/x-www-form-urlencoded"

    /// `application/json`: without the parameters.
    package var essence: String { type + "/" + subtype }
    package var description: String { essence }

    package func parameter(_ name: String) -> String? {
        parameters.first { $0.name == name }?.value
    }

    /// - Returns: `nil` when the text is malformed or names a parameter twice.
    package init?(_ text: String) {
        var rest = Array(text.utf8)[...]
        guard let type = Self.token(&rest), rest.popFirst() == UInt8(ascii: "/"), let subtype = Self.token(&rest)
        else { return nil }
        var parameters: [Parameter] = []
        while true {
            Self.skipBlanks(&rest)
            guard let separator = rest.popFirst() else { break }
            guard separator == UInt8(ascii: ";") else { return nil }
            Self.skipBlanks(&rest)
            // RFC 9110 §5.6.6: an empty parameter between two semicolons is allowed.
            if rest.isEmpty || rest.first == UInt8(ascii: ";") { continue }
            guard let name = Self.token(&rest)?.lowercased(), rest.popFirst() == UInt8(ascii: "="),
                let value = rest.first == UInt8(ascii: "\"") ? Self.quotedString(&rest) : Self.token(&rest),
                !parameters.contains(where: { $0.name == name })
            else { return nil }
            parameters.append(Parameter(name: name, value: value))
        }
        self.type = type.lowercased()
        self.subtype = subtype.lowercased()
        self.parameters = parameters
    }

    private static func token(_ rest: inout ArraySlice<UInt8>) -> String? {
        let token = rest.prefix(while: ByteSet.token.contains)
        rest = rest.dropFirst(token.count)
        return token.isEmpty ? nil : String(decoding: token, as: UTF8.self)
    }

    private static func quotedString(_ rest: inout ArraySlice<UInt8>) -> String? {
        rest = rest.dropFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(validating: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst(), !isControl(escaped) else { return nil }
                bytes.append(escaped)
            case _ where isControl(byte): return nil
            default: bytes.append(byte)
            }
        }
        return nil
    }

    private static func skipBlanks(_ rest: inout ArraySlice<UInt8>) {
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
    }
}
