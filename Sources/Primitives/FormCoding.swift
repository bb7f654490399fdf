/// `application/x-www-form-urlencoded`, as request bodies and query strings carry it.
///
/// Source: RFC 6749 appendix B; URL Standard, application/x-www-form-urlencoded parsing.
package enum FormCoding {
    package enum FormError: Error, Equatable, Sendable {
        /// A `%` without two hexadecimal digits, or text that is not UTF-8.
        case malformed
        case tooManyFields
    }

    /// Fields in the order sent, repeated names kept: to refuse them is the reader's decision. Empty pieces between
    /// two `&` are skipped; a name without `=` has the empty value.
    package static func decode(
        _ text: some Collection<UInt8>, fieldsMax: Int = 64
    ) throws(FormError) -> [(name: String, value: String)] {
        try fields(of: Array(text), fieldsMax)
    }

    package static func encode(_ fields: [(name: String, value: String)]) -> String {
        fields.map { PercentCoding.encode($0.name) + "=" + PercentCoding.encode($0.value) }.joined(separator: "&")
    }

    private static func fields(
        of text: [UInt8], _ fieldsMax: Int
    ) throws(FormError) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = []
        for piece in text.split(separator: UInt8(ascii: "&")) {
            guard fields.count < fieldsMax else { throw .tooManyFields }
            let equals = piece.firstIndex(of: UInt8(ascii: "=")) ?? piece.endIndex
            let name = try component(piece[..<equals])
            let value = equals == piece.endIndex ? "" : try component(piece[(equals + 1)...])
            fields.append((name, value))
        }
        return fields
    }

    private static func component(_ text: ArraySlice<UInt8>) throws(FormError) -> String {
        guard let bytes = PercentCoding.decode(text, plusIsBlank: true),
            let value = String(validating: bytes, as: UTF8.self)
        else { throw .malformed }
        return value
    }
}
