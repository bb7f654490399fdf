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
