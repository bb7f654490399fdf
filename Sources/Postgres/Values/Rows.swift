import CLibPQ
package import Primitives
import Telemetry

/// The rows that a statement gave, in the server's order. They stay in libpq's memory until the last reference goes.
package struct Rows: Sendable, RandomAccessCollection {
    let result: ResultHandle
    let statement: String
    let logger: Logger

    package var startIndex: Int { 0 }
    package var endIndex: Int { Int(PQntuples(result.pointer)) }

    /// - Precondition: `index` is below `count`.
    package subscript(index: Int) -> Row {
        precondition(indices.contains(index), "no such row")
        return Row(rows: self, index: Int32(index))
    }

    /// How many rows an INSERT, UPDATE or DELETE has touched, with or without RETURNING.
    package var affected: Int {
        PQcmdTuples(result.pointer).flatMap { Int(String(cString: $0)) } ?? 0
    }
}

/// One row. Columns are read by name and by type.
///
/// Every getter throws `.unavailable(.misconfigured)` when there is no such column, when it has another type, or when
/// it is null and the getter is not an `optional…` one: the schema is then not the one that the statement was written
/// for, and the log names the statement and the column.
package struct Row: Sendable {
    let rows: Rows
    let index: Int32

    package func text(_ column: StaticString) throws(DatabaseError) -> String {
        try required(column, optionalText(column))
    }

    package func int64(_ column: StaticString) throws(DatabaseError) -> Int64 {
        try required(column, optionalInt64(column))
    }

    package func bool(_ column: StaticString) throws(DatabaseError) -> Bool {
        try required(column, optionalBool(column))
    }

    package func bytes(_ column: StaticString) throws(DatabaseError) -> [UInt8] {
        try required(column, optionalBytes(column))
    }

    package func uuid(_ column: StaticString) throws(DatabaseError) -> UUID {
        try required(column, optionalUUID(column))
    }

    package func timestamp(_ column: StaticString) throws(DatabaseError) -> Timestamp {
        try required(column, optionalTimestamp(column))
    }

    package func textArray(_ column: StaticString) throws(DatabaseError) -> [String?] {
        try required(column, optionalTextArray(column))
    }

    package func bytesArray(_ column: StaticString) throws(DatabaseError) -> [[UInt8]?] {
        try required(column, optionalBytesArray(column))
    }

    package func int64Array(_ column: StaticString) throws(DatabaseError) -> [Int64?] {
        try required(column, optionalInt64Array(column))
    }

    /// Text of `text`, `varchar`, `char`, `name`, `json` and `jsonb` columns.
    package func optionalText(_ column: StaticString) throws(DatabaseError) -> String? {
        try decode(column) { oid, bytes in
            switch oid {
            case OID.jsonb:
                guard bytes.first == BinaryFormat.jsonbVersion else { return nil }
                return String(validating: bytes.dropFirst(), as: UTF8.self)
            case _ where OID.texts.contains(oid): return String(validating: bytes, as: UTF8.self)
            default: return nil
            }
        }
    }

    /// Of `bigint`, `integer` and `smallint` columns.
    package func optionalInt64(_ column: StaticString) throws(DatabaseError) -> Int64? {
        try decode(column) { oid, bytes in Self.integer(oid, bytes) }
    }

    package func optionalBool(_ column: StaticString) throws(DatabaseError) -> Bool? {
        try decode(column) { oid, bytes in
            oid == OID.bool && bytes.count == 1 ? bytes.first == 1 : nil
        }
    }

    package func optionalBytes(_ column: StaticString) throws(DatabaseError) -> [UInt8]? {
        try decode(column) { oid, bytes in oid == OID.bytes ? Array(bytes) : nil }
    }

    package func optionalUUID(_ column: StaticString) throws(DatabaseError) -> UUID? {
        try decode(column) { oid, bytes in
            oid == OID.uuid && bytes.count == 16 ? UUID(bytes: Array(bytes)) : nil
        }
    }

    /// Of `timestamptz` columns only: a `timestamp` names no instant. `infinity` is the furthest one.
    package func optionalTimestamp(_ column: StaticString) throws(DatabaseError) -> Timestamp? {
        try decode(column) { oid, bytes in
            guard oid == OID.timestamp else { return nil }
            return BinaryFormat.integer(bytes, as: Int64.self).map(BinaryFormat.instant(ofMicroseconds:))
        }
    }

    package func optionalTextArray(_ column: StaticString) throws(DatabaseError) -> [String?]? {
        try decode(column) { oid, bytes in
            guard OID.textArrays.contains(oid) else { return nil }
            return Self.array(bytes, of: OID.texts) { String(validating: $0, as: UTF8.self) }
        }
    }

    package func optionalBytesArray(_ column: StaticString) throws(DatabaseError) -> [[UInt8]?]? {
        try decode(column) { oid, bytes in
            oid == OID.bytesArray ? Self.array(bytes, of: [OID.bytes]) { Array($0) } : nil
        }
    }

    package func optionalInt64Array(_ column: StaticString) throws(DatabaseError) -> [Int64?]? {
        try decode(column) { oid, bytes in
            guard let element = OID.integerArrays[oid] else { return nil }
            return Self.array(bytes, of: [element]) { Self.integer(element, $0) }
        }
    }

    package func isNull(_ column: StaticString) throws(DatabaseError) -> Bool {
        let number = try number(of: column)
        return PQgetisnull(rows.result.pointer, index, number) == 1
    }
}

extension Row {
    private func decode<Value>(
        _ column: StaticString, _ body: (_ oid: UInt32, _ bytes: UnsafeRawBufferPointer) -> Value?
    ) throws(DatabaseError) -> Value? {
        let number = try number(of: column)
        let result = rows.result.pointer
        if PQgetisnull(result, index, number) == 1 { return nil }
        let oid = PQftype(result, number)
        // SAFETY: the bytes are libpq's, live as long as the result, and do not leave `body`.
        let bytes = UnsafeRawBufferPointer(
            start: PQgetvalue(result, index, number), count: Int(PQgetlength(result, index, number)))
        guard PQfformat(result, number) == 1, let value = body(oid, bytes) else {
            throw mismatch(column, oid: oid)
        }
        return value
    }

    private func number(of column: StaticString) throws(DatabaseError) -> Int32 {
        let number = column.withUTF8Buffer { name in
            name.withMemoryRebound(to: CChar.self) { PQfnumber(rows.result.pointer, $0.baseAddress) }
        }
        guard number >= 0 else { throw mismatch(column, oid: 0) }
        return number
    }

    private func required<Value>(_ column: StaticString, _ value: Value?) throws(DatabaseError) -> Value {
        guard let value else { throw mismatch(column, oid: 0) }
        return value
    }

    private func mismatch(_ column: StaticString, oid: UInt32) -> DatabaseError {
        rows.logger.throttled(
            .error, "a column is missing, null or of another type than the statement expects", of: rows.statement,
            [
                LogField("db.statement", rows.statement), LogField("db.column", column.description),
                LogField("db.type_oid", Int(oid)),
            ])
        return .unavailable(.misconfigured)
    }

    private static func integer(_ oid: UInt32, _ bytes: UnsafeRawBufferPointer) -> Int64? {
        switch oid {
        case OID.int64: BinaryFormat.integer(bytes, as: Int64.self)
        case OID.int32: BinaryFormat.integer(bytes, as: Int32.self).map(Int64.init)
        case OID.int16: BinaryFormat.integer(bytes, as: Int16.self).map(Int64.init)
        default: nil
        }
    }

    private static func array<Element>(
        _ bytes: UnsafeRawBufferPointer, of types: Set<UInt32>, _ decode: (UnsafeRawBufferPointer) -> Element?
    ) -> [Element?]? {
        guard let slices = BinaryFormat.elements(bytes, of: types) else { return nil }
        var elements: [Element?] = []
        elements.reserveCapacity(slices.count)
        for slice in slices {
            guard let slice else {
                elements.append(nil)
                continue
            }
            guard let element = decode(slice) else { return nil }
            elements.append(element)
        }
        return elements
    }
}

/// The types that getters take, by Postgres's numbers (`pg_type.dat`).
private enum OID {
    static let bool: UInt32 = 16
    static let bytes: UInt32 = 17
    static let int64: UInt32 = 20
    static let int16: UInt32 = 21
    static let int32: UInt32 = 23
    static let uuid: UInt32 = 2950
    static let timestamp: UInt32 = 1184
    static let jsonb: UInt32 = 3802
    static let bytesArray: UInt32 = 1001
    /// name, text, json, bpchar, varchar
    static let texts: Set<UInt32> = [19, 25, 114, 1042, 1043]
    /// text[], bpchar[], varchar[]
    static let textArrays: Set<UInt32> = [1009, 1014, 1015]
    /// smallint[], integer[], bigint[] and the types of their elements
    static let integerArrays: [UInt32: UInt32] = [1005: 21, 1007: 23, 1016: 20]
}
