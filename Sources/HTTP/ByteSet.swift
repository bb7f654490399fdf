/// A set of ASCII bytes as two words of bits; bytes from 128 on are never members.
struct ByteSet: Sendable {
    private var low: UInt64 = 0
    private var high: UInt64 = 0

    init(_ members: String) {
        for byte in members.utf8 {
            if byte < 64 { low |= 1 << UInt64(byte) } else { high |= 1 << UInt64(byte & 63) }
        }
    }

    @inline(__always)
    func contains(_ byte: UInt8) -> Bool {
        let word = byte < 64 ? low : high
        return byte < 128 && word >> UInt64(byte & 63) & 1 == 1
    }

    /// Whether all bytes are members and there is at least one.
    func holds(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy { contains($0) }
    }

    private static let alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

    /// RFC 9110 §5.6.2.
    static let token = ByteSet(alphanumeric + "!#$%&'*+-.^_`|~")
    /// RFC 3986 §3.3: what a path holds, `%` included.
    static let path = ByteSet(alphanumeric + "-._~!$&'()*+,;=:@/%")
    /// RFC 3986 §3.4.
    static let query = ByteSet(alphanumeric + "-._~!$&'()*+,;=:@/?%")
    /// The registered names that exist in practice: letters, digits, hyphens, dots, and the underscore of container
    /// networks. RFC 3986 §3.2.2 allows more, which no resolver takes.
    static let hostName = ByteSet(alphanumeric + "-._")
}

/// Without the tables of a locale: ASCII letters alone fold.
@inline(__always)
func lowercased(_ byte: UInt8) -> UInt8 {
    byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte
}

func areEqualIgnoringCase(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
    left.elementsEqual(right) { lowercased($0) == lowercased($1) }
}
