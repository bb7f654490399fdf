/// A JSON value that keeps what the text said: member order, and numbers as they were written.
///
/// Strings are equal byte by byte, objects when they have the same members in the same order.
package enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    /// Written as a plain integer (no fraction, no exponent, no `-0`) within 64 bits.
    case integer(Int64)
    /// Any other number.
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.integer(let left), .integer(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): areIdentical(left, right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }
}

extension JSONValue {
    package var isNull: Bool { self == .null }

    package var boolValue: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// `nil` also for `1.0` and `1e3`: a claim that must be an integer is written as one.
    package var integerValue: Int64? {
        if case .integer(let value) = self { value } else { nil }
    }

    /// Of any number; `nil` where a `Double` cannot hold it (`1e400`).
    package var doubleValue: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value.doubleValue
        default: nil
        }
    }

    package var stringValue: String? {
        if case .string(let value) = self { value } else { nil }
    }

    package var arrayValue: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }

    package var objectValue: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }
}

/// The literal of a number that is no plain 64-bit integer, kept so that it is written back as it came.
package struct JSONNumber: Equatable, Sendable {
    package let literal: String

    /// - Precondition: `literal` follows RFC 8259 §6; the parser has proved it.
    init(provedLiteral literal: String) {
        self.literal = literal
    }

    /// `nil` for infinities and not-a-number, which JSON cannot express.
    package init?(_ value: Double) {
        guard value.isFinite else { return nil }
        literal = value.description
    }

    /// `nil` when the literal is beyond the range of a `Double`.
    package var doubleValue: Double? {
        guard let value = Double(literal), value.isFinite else { return nil }
        return value
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(nilLiteral: ()) { self = .null }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(stringLiteral value: String) { self = .string(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(JSONObject(elements)) }
}
