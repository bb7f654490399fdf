import Primitives

/// Text that is equal byte by byte.
///
/// Swift's `String` compares by canonical equivalence: the Kelvin sign equals `K`. A token's `aud`, `iss` and member
/// names are code points, compared without normalization. Source: RFC 7515 §5.3, RFC 8259 §8.3.
package struct ExactText: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static func == (left: ExactText, right: ExactText) -> Bool {
        areIdentical(left.text, right.text)
    }

    package func hash(into hasher: inout Hasher) {
        var contiguous = text
        // SAFETY: the buffer is read inside the closure only.
        contiguous.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }
}

/// True when both have the same UTF-8 bytes.
package func areIdentical(_ left: String, _ right: String) -> Bool {
    // Equivalence first: it is false at once for most pairs, and never false for identical bytes.
    left == right && left.utf8.elementsEqual(right.utf8)
}

/// Text from outside as it may go to a terminal: what could move the cursor or turn the line around is escaped.
package func shown(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
        switch scalar.value {
        case 0..<0x20, 0x7f..<0xa0, 0x200b..<0x2010, 0x2028..<0x202f, 0x2060..<0x2070, 0xfeff:
            result += "\\u{\(Hex.encode([UInt8(scalar.value >> 8 & 0xff), UInt8(scalar.value & 0xff)]))}"
        default: result.unicodeScalars.append(scalar)
        }
    }
    return result
}
