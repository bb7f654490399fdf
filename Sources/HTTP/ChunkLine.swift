/// `size *( ";" name [ "=" value ] )`, checked; extensions mean nothing here.
///
/// ```text
/// 1a                     26 bytes follow
/// 5;a=b;c="d; e"         5 bytes follow, 14 bytes of extensions
/// ```
/// No blank is taken anywhere outside quotes, though RFC 9112 §7.1.1 lets a reader be lenient about some.
struct ChunkLine {
    /// Digits of a size: as many as a `UInt64` holds, leading zeros included.
    static let digitsMax = 16

    let size: UInt64
    let extensionBytes: Int

    init?(_ bytes: Span<UInt8>, _ line: Range<Int>) {
        var index = line.lowerBound
        var size: UInt64 = 0
        while index < line.upperBound, let digit = Self.hexDigit(bytes[index]) {
            guard index - line.lowerBound < Self.digitsMax else { return nil }
            size = size << 4 | UInt64(digit)
            index += 1
        }
        guard index > line.lowerBound else { return nil }
        self.size = size
        extensionBytes = line.upperBound - index
        while index < line.upperBound {
            guard bytes[index] == UInt8(ascii: ";"),
                let end = Self.endOfExtension(bytes, index + 1..<line.upperBound)
            else { return nil }
            index = end
        }
    }

    private static func endOfExtension(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        guard let nameEnd = endOfToken(bytes, range) else { return nil }
        guard nameEnd < range.upperBound, bytes[nameEnd] == UInt8(ascii: "=") else { return nameEnd }
        let value = nameEnd + 1..<range.upperBound
        guard let first = value.first else { return nil }
        return bytes[first] == UInt8(ascii: "\"") ? endOfQuotedString(bytes, value) : endOfToken(bytes, value)
    }

    private static func endOfToken(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        let tokens = ByteSet.token
        var index = range.lowerBound
        while index < range.upperBound, tokens.contains(bytes[index]) { index += 1 }
        return index > range.lowerBound ? index : nil
    }

    /// RFC 9110 §5.6.4.
    private static func endOfQuotedString(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        var index = range.lowerBound + 1
        while index < range.upperBound {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") { return index + 1 }
            if byte == UInt8(ascii: "\\") { index += 1 }
            guard index < range.upperBound, !isControl(bytes[index]) else { return nil }
            index += 1
        }
        return nil
    }

    private static func hexDigit(_ byte: UInt8) -> UInt8? {
        if isDigit(byte) { return byte - UInt8(ascii: "0") }
        let letter = lowercased(byte)
        return letter &- UInt8(ascii: "a") < 6 ? letter - UInt8(ascii: "a") + 10 : nil
    }
}
