package import Primitives

/// The type of a parameter, as Postgres numbers it.
package enum SQLType: UInt32, Sendable {
    case bool = 16
    case bytes = 17
    case int64 = 20
    case text = 25
    case bytesArray = 1001
    case textArray = 1009
    case int64Array = 1016
    case timestamp = 1184
    case uuid = 2950
    case jsonb = 3802

    var oid: UInt32 { rawValue }
}

/// One parameter of a statement. Values travel in Postgres's binary format, so nothing is quoted or parsed.
package enum SQLValue: Sendable, Equatable {
    /// Fits every type.
    case null
    /// Must not hold U+0000, which Postgres cannot store: the statement would fail with 22021.
    case text(String)
    case int64(Int64)
    case bool(Bool)
    case bytes([UInt8])
    case uuid(UUID)
    case timestamp(Timestamp)
    case textArray([String?])
    case bytesArray([[UInt8]?])
    case int64Array([Int64?])
    /// JSON text; Postgres checks it.
    case jsonb(String)

    /// `null` for `nil`: `.optional(device.name, SQLValue.text)`.
    package static func optional<Value>(_ value: Value?, _ make: (Value) -> SQLValue) -> SQLValue {
        value.map(make) ?? .null
    }

    /// `nil` for `null`, which has none.
    var type: SQLType? {
        switch self {
        case .null: nil
        case .text: .text
        case .int64: .int64
        case .bool: .bool
        case .bytes: .bytes
        case .uuid: .uuid
        case .timestamp: .timestamp
        case .textArray: .textArray
        case .bytesArray: .bytesArray
        case .int64Array: .int64Array
        case .jsonb: .jsonb
        }
    }
}
