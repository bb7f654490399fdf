import Primitives

// Postgres's binary format: integers are big-endian, and a one-dimensional array of two texts, {"ab",NULL}, is
//
//     00000001  dimensions          00000019  element type (25, text)     00000001  lower bound
//     00000001  has a null          00000002  elements                    00000002 61 62   FFFFFFFF
//
// An empty array has 0 dimensions and ends after the element type.
enum BinaryFormat {
    /// 2000-01-01T00:00:00Z, the zero of `timestamptz`, in microseconds since 1970.
    static let epoch: Int64 = 946_684_800_000_000
    /// Microseconds before that zero of the first instant that `timestamptz` holds, in 4714 BC.
    private static let firstInstant: Int64 = -211_813_488_000_000_000
    static let jsonbVersion: UInt8 = 1

    /// Appends the bytes of a value without its length. `null` has none.
    static func append(_ value: SQLValue, to buffer: inout [UInt8]) {
        switch value {
        case .null: break
        case .text(let text): buffer.append(contentsOf: text.utf8)
        case .int64(let number): append(number, to: &buffer)
        case .bool(let flag): buffer.append(flag ? 1 : 0)
        case .bytes(let bytes): buffer.append(contentsOf: bytes)
        case .uuid(let uuid): buffer.append(contentsOf: uuid.bytes)
        case .timestamp(let instant): append(microseconds(of: instant), to: &buffer)
        case .jsonb(let text):
            buffer.append(jsonbVersion)
            buffer.append(contentsOf: text.utf8)
        case .textArray(let elements):
            append(elements.map { $0.map { Array($0.utf8) } }, of: .text, to: &buffer)
        case .bytesArray(let elements):
            append(elements, of: .bytes, to: &buffer)
        case .int64Array(let elements):
            append(elements.map { $0.map(bytes(of:)) }, of: .int64, to: &buffer)
        }
    }

    static func append(_ number: some FixedWidthInteger, to buffer: inout [UInt8]) {
        withUnsafeBytes(of: number.bigEndian) { buffer.append(contentsOf: $0) }
    }

    /// What Postgres cannot hold is `infinity` or `-infinity`, and so are the furthest instants.
    static func microseconds(of instant: Timestamp) -> Int64 {
        if instant.microsecondsSinceEpoch == .max { return .max }
        let (shifted, hasOverflown) = instant.microsecondsSinceEpoch.subtractingReportingOverflow(epoch)
        return hasOverflown || shifted < firstInstant ? .min : shifted
    }

    /// `infinity` is the furthest instant: one row that says "for ever" must not stop those around it.
    static func instant(ofMicroseconds number: Int64) -> Timestamp {
        if number == .min { return Timestamp(microsecondsSinceEpoch: .min) }
        let (shifted, hasOverflown) = number.addingReportingOverflow(epoch)
        return Timestamp(microsecondsSinceEpoch: hasOverflown ? .max : shifted)
    }

    static func integer<Number: FixedWidthInteger>(_ bytes: UnsafeRawBufferPointer, as type: Number.Type) -> Number? {
        guard bytes.count == MemoryLayout<Number>.size else { return nil }
        return Number(bigEndian: bytes.loadUnaligned(as: Number.self))
    }

    /// The elements of an array of at most one dimension; `nil` when it is malformed or has another element type.
    static func elements(_ bytes: UnsafeRawBufferPointer, of types: Set<UInt32>) -> [UnsafeRawBufferPointer?]? {
        var rest = bytes
        guard let dimensions = takeInt32(&rest), takeInt32(&rest) != nil, let type = takeInt32(&rest),
            types.contains(UInt32(bitPattern: type))
        else { return nil }
        if dimensions == 0 { return rest.isEmpty ? [] : nil }
        // Each element has a length of 4 bytes: the count cannot exceed what is there.
        guard dimensions == 1, let count = takeInt32(&rest), takeInt32(&rest) != nil, count >= 0,
            Int(count) <= rest.count / 4
        else { return nil }
        var elements: [UnsafeRawBufferPointer?] = []
        elements.reserveCapacity(Int(count))
        for _ in 0..<count {
            guard let length = takeInt32(&rest) else { return nil }
            if length == -1 {
                elements.append(nil)
                continue
            }
            guard length >= 0, Int(length) <= rest.count else { return nil }
            elements.append(UnsafeRawBufferPointer(rebasing: rest.prefix(Int(length))))
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(Int(length)))
        }
        return rest.isEmpty ? elements : nil
    }

    private static func bytes(of number: Int64) -> [UInt8] {
        var buffer: [UInt8] = []
        append(number, to: &buffer)
        return buffer
    }

    private static func append(_ elements: [[UInt8]?], of type: SQLType, to buffer: inout [UInt8]) {
        append(Int32(elements.isEmpty ? 0 : 1), to: &buffer)
        append(Int32(elements.contains { $0 == nil } ? 1 : 0), to: &buffer)
        append(type.oid, to: &buffer)
        if elements.isEmpty { return }
        append(Int32(elements.count), to: &buffer)
        append(Int32(1), to: &buffer)
        for element in elements {
            guard let element else {
                append(Int32(-1), to: &buffer)
                continue
            }
            append(Int32(element.count), to: &buffer)
            buffer.append(contentsOf: element)
        }
    }

    private static func takeInt32(_ bytes: inout UnsafeRawBufferPointer) -> Int32? {
        guard bytes.count >= 4 else { return nil }
        let number = Int32(bigEndian: bytes.loadUnaligned(as: Int32.self))
        bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(4))
        return number
    }
}
