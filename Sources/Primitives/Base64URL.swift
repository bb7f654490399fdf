/// Base64url without padding, strict: one text for one value.
///
/// Refused: padding, the standard alphabet's `+` and `/`, blanks, a length of 4n + 1, and spare bits that are not zero.
/// Source: RFC 4648 §5 and §3.5, RFC 7515 §2.
package enum Base64URL {
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: encodedBytes(bytes), as: UTF8.self)
    }

    /// The same as ASCII bytes.
    package static func encodedBytes(_ bytes: some Collection<UInt8>) -> [UInt8] {
        Base64Alphabet.url.encode(bytes, isPadded: false)
    }

    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        Base64Alphabet.url.decode(text)
    }

    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(Array(text.utf8))
    }
}

/// Standard base64 with padding. Decoding is strict: padding has to be complete, spare bits zero.
///
/// Source: RFC 4648 §4.
package enum Base64 {
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        String(decoding: Base64Alphabet.standard.encode(bytes, isPadded: true), as: UTF8.self)
    }

    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var digits = Array(text.utf8)
        guard digits.count % 4 == 0 else { return nil }
        for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        return Base64Alphabet.standard.decode(digits)
    }
}

/// The digits of one of RFC 4648's two alphabets, and their values.
struct Base64Alphabet: Sendable {
    static let standard = Base64Alphabet(last: "+/")
    static let url = Base64Alphabet(last: "-_")

    private let digits: [UInt8]
    /// The value of each byte; 255 where it is no digit.
    private let values: [UInt8]

    private init(last: String) {
        digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8) + Array(last.utf8)
        var values = [UInt8](repeating: 255, count: 256)
        for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
        self.values = values
    }

    /// Generic code of another module runs unspecialized, some 50 ns a byte: both ways work on an array.
    func encode(_ bytes: some Collection<UInt8>, isPadded: Bool) -> [UInt8] {
        encode(Array(bytes), isPadded: isPadded)
    }

    func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        decode(Array(text))
    }

    private func encode(_ bytes: [UInt8], isPadded: Bool) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var pending: UInt32 = 0
        var pendingBits = 0
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            pendingBits += 8
            while pendingBits >= 6 {
                pendingBits -= 6
                text.append(digits[Int(pending >> UInt32(pendingBits) & 63)])
            }
        }
        if pendingBits > 0 { text.append(digits[Int(pending << UInt32(6 - pendingBits) & 63)]) }
        if isPadded {
            while text.count % 4 != 0 { text.append(UInt8(ascii: "=")) }
        }
        return text
    }

    private func decode(_ text: [UInt8]) -> [UInt8]? {
        guard text.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var pending: UInt32 = 0
        var pendingBits = 0
        for digit in text {
            let value = values[Int(digit)]
            guard value != 255 else { return nil }
            pending = pending << 6 | UInt32(value)
            pendingBits += 6
            if pendingBits >= 8 {
                pendingBits -= 8
                bytes.append(UInt8(truncatingIfNeeded: pending >> UInt32(pendingBits)))
            }
        }
        // RFC 4648 §3.5: spare bits that are not zero would let two texts stand for one value.
        guard pending & ((1 << UInt32(pendingBits)) - 1) == 0 else { return nil }
        return bytes
    }
}
