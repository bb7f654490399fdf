import Primitives

/// Header fields in the order sent, names kept as written and compared without regard to case.
///
/// All names and values lie in one byte buffer with offsets beside it; a `String` is made only for a field that is
/// asked for. A value is text in UTF-8 or, where its bytes are not that, one code point from 0 to 255 per byte.
/// Source: RFC 9110 §5.
package struct HTTPFields: Sendable {
    /// Where a name and a value lie in `bytes`. 32 bits hold any offset that the limits allow.
    struct Entry: Sendable {
        let nameStart: UInt32
        let nameEnd: UInt32
        let valueStart: UInt32
        let valueEnd: UInt32

        init(name: Range<Int>, value: Range<Int>) {
            nameStart = UInt32(name.lowerBound)
            nameEnd = UInt32(name.upperBound)
            valueStart = UInt32(value.lowerBound)
            valueEnd = UInt32(value.upperBound)
        }

        var name: Range<Int> { Int(nameStart)..<Int(nameEnd) }
        var value: Range<Int> { Int(valueStart)..<Int(valueEnd) }
    }

    /// May hold more than the fields: a parsed request shares the bytes of its whole head.
    private(set) var bytes: [UInt8]
    private(set) var entries: [Entry]

    package init() {
        bytes = []
        entries = []
    }

    init(bytes: [UInt8], entries: [Entry]) {
        self.bytes = bytes
        self.entries = entries
    }

    package var count: Int { entries.count }
    /// Bytes of heap in use.
    package var heldBytes: Int { bytes.capacity + entries.capacity * MemoryLayout<Entry>.stride }
    package var isEmpty: Bool { entries.isEmpty }

    /// All values of the field joined with ", ", or `nil` when it is absent. Source: RFC 9110 §5.3.
    package subscript(_ name: String) -> String? {
        var joined: String?
        for entry in entries where isNamed(entry, name) {
            let value = text(entry.value)
            joined = joined.map { $0 + ", " + value } ?? value
        }
        return joined
    }

    /// The values of the field, one for each time that it was sent.
    package func values(of name: String) -> [String] {
        entries.filter { isNamed($0, name) }.map { text($0.value) }
    }

    package func contains(_ name: String) -> Bool {
        entries.contains { isNamed($0, name) }
    }

    /// The bytes of each value of the field, as sent.
    package func valueBytes(of name: String) -> [ArraySlice<UInt8>] {
        entries.filter { isNamed($0, name) }.map { bytes[$0.value] }
    }

    /// Adds a field behind the others.
    ///
    /// Blanks around the value go away. A control byte in it (CR, LF and NUL above all) becomes `%XX`, so that no
    /// input can end a line or start a field of its own; the tab stays.
    package mutating func append(_ name: HTTPFieldName, _ value: String) {
        let nameStart = bytes.count
        bytes.append(contentsOf: name.raw.utf8)
        let valueStart = bytes.count
        let content = trimmed(value)
        if content.contains(where: isControl) {
            // RFC 9110 §5.5: CR, LF and NUL are invalid and dangerous in a value → they are never sent.
            for byte in content {
                guard isControl(byte) else {
                    bytes.append(byte)
                    continue
                }
                bytes.append(UInt8(ascii: "%"))
                bytes.append(contentsOf: Hex.encode(CollectionOfOne(byte)).uppercased().utf8)
            }
        } else {
            bytes.append(contentsOf: content)
        }
        entries.append(Entry(name: nameStart..<valueStart, value: valueStart..<bytes.count))
    }

    /// Puts this value in the place of all that the field had.
    package mutating func set(_ name: HTTPFieldName, _ value: String) {
        remove(name.raw)
        append(name, value)
    }

    package mutating func remove(_ name: String) {
        entries = entries.filter { !isNamed($0, name) }
    }

    package mutating func append(contentsOf others: HTTPFields) {
        for entry in others.entries {
            let nameStart = bytes.count
            bytes.append(contentsOf: others.bytes[entry.name])
            let valueStart = bytes.count
            bytes.append(contentsOf: others.bytes[entry.value])
            entries.append(Entry(name: nameStart..<valueStart, value: valueStart..<bytes.count))
        }
    }

    func isNamed(_ entry: Entry, _ name: String) -> Bool {
        let range = entry.name
        guard range.count == name.utf8.count else { return false }
        return bytes.withUnsafeBufferPointer { bytes in
            // Strings of ours are contiguous: no walk over their storage byte by byte.
            name.utf8.withContiguousStorageIfAvailable { name in
                name.indices.allSatisfy { lowercased(bytes[range.lowerBound + $0]) == lowercased(name[$0]) }
            } ?? areEqualIgnoringCase(bytes[range], name.utf8)
        }
    }

    private func text(_ range: Range<Int>) -> String {
        fieldText(bytes[range])
    }
}

extension HTTPFields: Sequence {
    package typealias Element = (name: String, value: String)

    package func makeIterator() -> AnyIterator<Element> {
        var rest = entries.makeIterator()
        return AnyIterator {
            rest.next().map { (fieldText(bytes[$0.name]), fieldText(bytes[$0.value])) }
        }
    }
}

extension HTTPFields: Equatable {
    /// The same fields in the same order.
    package static func == (left: HTTPFields, right: HTTPFields) -> Bool {
        left.entries.count == right.entries.count
            && zip(left.entries, right.entries).allSatisfy { one, other in
                areEqualIgnoringCase(left.bytes[one.name], right.bytes[other.name])
                    && left.bytes[one.value] == right.bytes[other.value]
            }
    }
}

extension HTTPFields: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral fields: (HTTPFieldName, String)...) {
        self.init()
        for (name, value) in fields { append(name, value) }
    }
}

private func fieldText(_ bytes: ArraySlice<UInt8>) -> String {
    String(validating: bytes, as: UTF8.self) ?? String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) }))
}

private func trimmed(_ value: String) -> Substring.UTF8View {
    var rest = value[...].utf8
    while let first = rest.first, first == 0x20 || first == 0x09 { rest.removeFirst() }
    while let last = rest.last, last == 0x20 || last == 0x09 { rest.removeLast() }
    return rest
}

/// A byte that a field value must not hold: all controls but the tab. Source: RFC 9110 §5.5.
@inline(__always)
func isControl(_ byte: UInt8) -> Bool {
    byte < 0x20 && byte != 0x09 || byte == 0x7f
}
