/// `name ":" OWS value OWS`, checked.
///
/// Source: RFC 9112 §5, RFC 9110 §5.5.
enum FieldLine {
    /// - Returns: where name and value lie, or `nil` when the line is malformed.
    static func parse(_ bytes: Span<UInt8>, _ line: Range<Int>) -> HTTPFields.Entry? {
        let tokens = ByteSet.token
        var colon = line.lowerBound
        while colon < line.upperBound, tokens.contains(bytes[colon]) { colon += 1 }
        // RFC 9112 §5.1: a blank before the colon → 400. §5.2: a leading blank is a folded line → 400. Neither a blank
        // nor a control is a token's, so that both end here.
        guard colon > line.lowerBound, colon < line.upperBound, bytes[colon] == UInt8(ascii: ":") else { return nil }
        var start = colon + 1
        var end = line.upperBound
        while start < end, isBlank(bytes[start]) { start += 1 }
        while end > start, isBlank(bytes[end - 1]) { end -= 1 }
        guard !holdsControl(bytes, start..<end) else { return nil }
        return HTTPFields.Entry(name: line.lowerBound..<colon, value: start..<end)
    }

    @inline(__always)
    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// Whether a control other than the tab is there, a bare CR above all (RFC 9112 §2.2). Eight bytes at a time.
    private static func holdsControl(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Bool {
        let raw = bytes.bytes
        var index = range.lowerBound
        while index + 8 <= range.upperBound {
            let word = raw.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            let deletes = word ^ 0x7f7f_7f7f_7f7f_7f7f
            let suspects =
                ((word &- 0x2020_2020_2020_2020) & ~word) | ((deletes &- 0x0101_0101_0101_0101) & ~deletes)
            // A borrow may mark a byte too many, never one too few: look closer.
            if suspects & 0x8080_8080_8080_8080 != 0 {
                for offset in index..<index + 8 where isControl(bytes[offset]) { return true }
            }
            index += 8
        }
        while index < range.upperBound {
            if isControl(bytes[index]) { return true }
            index += 1
        }
        return false
    }
}
