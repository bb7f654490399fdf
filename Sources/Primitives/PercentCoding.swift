/// Percent-encoding of URI components.
///
/// Source: RFC 3986 §2.1 and §2.3.
package enum PercentCoding {
    /// Every byte but the unreserved ones becomes `%XX`.
    package static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            if isUnreserved(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += "%" + Hex.encode(CollectionOfOne(byte)).uppercased()
            }
        }
        return encoded
    }

    /// `nil` when a `%` is not followed by two hexadecimal digits.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        decode(Array(text)[...], plusIsBlank: false)
    }

    /// On a slice and not on any collection: across modules a generic body would run unspecialized.
    package static func decode(_ text: ArraySlice<UInt8>, plusIsBlank: Bool) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            index += 1
            if byte == UInt8(ascii: "%") {
                guard index + 1 < text.endIndex, let high = Hex.value(of: text[index]),
                    let low = Hex.value(of: text[index + 1])
                else { return nil }
                bytes.append(high << 4 | low)
                index += 2
            } else {
                bytes.append(plusIsBlank && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
            }
        }
        return bytes
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
