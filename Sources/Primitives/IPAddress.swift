import Glibc

/// An IPv4 or IPv6 address without a port, as 128 bits.
///
///     192.0.2.1       0000:0000:0000:0000:0000:ffff:c000:0201
///     2001:db8::1     2001:0db8:0000:0000:0000:0000:0000:0001
///
/// IPv4 is kept as it is mapped into IPv6 (RFC 4291 §2.5.5.2): a client that reached a socket of both families is the same
/// client as on a socket of its own.
package struct IPAddress: Hashable, Sendable {
    package let high: UInt64
    package let low: UInt64

    /// `::`, which is nobody's.
    package static let unspecified = IPAddress(high: 0, low: 0)

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package init(ipv4 number: UInt32) {
        self.init(high: 0, low: Self.mapped | UInt64(number))
    }

    /// `nil` for anything but a numeric address: no brackets, port, zone or blank, and IPv4 in four decimal parts alone.
    package init?(_ text: some StringProtocol) {
        // The C function stops at a NUL: what stands behind one must not be left unread.
        guard text.utf8.count <= 45, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return nil }
        var bytes = [UInt8](repeating: 0, count: 16)
        if text.utf8.contains(UInt8(ascii: ":")) {
            guard text.withCString({ inet_pton(AF_INET6, $0, &bytes) }) == 1 else { return nil }
            self.init(high: Self.number(bytes[..<8]), low: Self.number(bytes[8...]))
        } else {
            guard text.withCString({ inet_pton(AF_INET, $0, &bytes) }) == 1 else { return nil }
            self.init(ipv4: UInt32(Self.number(bytes[..<4])))
        }
    }

    package var isIPv4: Bool { high == 0 && low & ~0xffff_ffff == Self.mapped }

    /// The address with all but its first `count` bits cleared, of the 128.
    package func prefix(_ count: Int) -> IPAddress {
        IPAddress(high: high & Self.mask(count), low: low & Self.mask(count - 64))
    }

    private static let mapped: UInt64 = 0xffff_0000_0000

    /// The first `count` of 64 bits set; none for less than one, all for more than 64.
    private static func mask(_ count: Int) -> UInt64 {
        if count <= 0 { return 0 }
        return count >= 64 ? .max : ~(.max >> UInt64(count))
    }

    private static func number(_ bytes: some Sequence<UInt8>) -> UInt64 {
        bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension IPAddress: CustomStringConvertible {
    package var description: String {
        if isIPv4 {
            return Self.decimal(UInt32(truncatingIfNeeded: low))
        }
        var bytes = (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? high : low) >> UInt64(56 - 8 * ($0 % 8))) }
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        _ = inet_ntop(AF_INET6, &bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    /// Fifteen bytes at most: a text that needs no allocation. There is one in every line of the access log.
    private static func decimal(_ number: UInt32) -> String {
        String(unsafeUninitializedCapacity: 15) { buffer in
            var count = 0
            for part in 0..<4 {
                let byte = UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * part))
                if part > 0 {
                    buffer[count] = UInt8(ascii: ".")
                    count += 1
                }
                for power: UInt8 in [100, 10, 1] where byte >= power || power == 1 {
                    buffer[count] = UInt8(ascii: "0") + byte / power % 10
                    count += 1
                }
            }
            return count
        }
    }
}
