import CLibPQ

/// The values of one call in the shape that libpq takes.
struct Parameters {
    private var buffer: [UInt8] = []
    /// The place of each value in the buffer; `nil` for null.
    private var ranges: [Range<Int>?] = []

    /// - Precondition: as many values as the statement has parameters, each null or of the declared type.
    init(_ values: [SQLValue], for statement: Statement) {
        precondition(values.count == statement.parameters.count, "\(statement.name): wrong number of values")
        for (value, declared) in zip(values, statement.parameters) {
            guard let type = value.type else {
                ranges.append(nil)
                continue
            }
            precondition(type == declared, "\(statement.name): a value is not of the declared type")
            let start = buffer.count
            BinaryFormat.append(value, to: &buffer)
            ranges.append(start..<buffer.count)
        }
        // An empty value needs an address too: to libpq a null pointer is a null value.
        buffer.append(0)
    }

    typealias Body = (
        _ count: Int32, _ values: UnsafePointer<UnsafePointer<CChar>?>?, _ lengths: UnsafePointer<Int32>?,
        _ formats: UnsafePointer<Int32>?
    ) -> Int32

    /// libpq copies what it is shown, so the pointers need to live for the call only.
    func withPointers(_ body: Body) -> Int32 {
        buffer.withUnsafeBytes { bytes in
            let base = bytes.baseAddress
            let values = ranges.map { range in
                range.flatMap { base?.advanced(by: $0.lowerBound).assumingMemoryBound(to: CChar.self) }
            }
            let lengths = ranges.map { Int32($0?.count ?? 0) }
            let formats = [Int32](repeating: 1, count: ranges.count)
            return body(Int32(ranges.count), values, lengths, formats)
        }
    }
}
