/// A block of addresses of one family: `10.0.0.0/8`, `2001:db8::/32`, or one address alone.
///
/// Source: RFC 4632 §3.1, RFC 4291 §2.3.
package struct CIDR: Hashable, Sendable {
    private let network: IPAddress
    /// Of the 128 bits.
    private let prefixBits: Int
    private let isIPv4: Bool

    /// Bits behind the prefix are not looked at. `nil` for anything else than an address, a slash and a decimal number.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(parts[0]) else { return nil }
        // `::ffff:0:0/96` is written as IPv6 and holds IPv4: which of the two was meant is not for us to guess.
        isIPv4 = !parts[0].utf8.contains(UInt8(ascii: ":"))
        guard isIPv4 || !address.isIPv4 else { return nil }
        let most = isIPv4 ? 32 : 128
        var length = most
        if parts.count == 2 {
            let digits = parts[1].utf8
            guard (1...3).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = Int(parts[1]), number <= most
            else { return nil }
            length = number
        }
        prefixBits = 128 - most + length
        network = address.prefix(prefixBits)
    }

    package func contains(_ address: IPAddress) -> Bool {
        address.isIPv4 == isIPv4 && address.prefix(prefixBits) == network
    }
}
