/// A universally unique identifier of 16 bytes. Text is lower-case with four hyphens; parsing takes both cases.
///
/// Source: RFC 9562 §4 and §5.4 (version 4).
package struct UUID: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]

    /// - Precondition: 16 bytes.
    package init(bytes: [UInt8]) {
        precondition(bytes.count == 16, "a UUID has 16 bytes")
        self.bytes = bytes
    }

    /// Version 4 from 16 random bytes.
    package init(random: some RandomSource) {
        var bytes = random.bytes(16)
        bytes[6] = bytes[6] & 0x0f | 0x40
        bytes[8] = bytes[8] & 0x3f | 0x80
        self.init(bytes: bytes)
    }

    package init?(_ text: some StringProtocol) {
        let characters = Array(text.utf8)
        guard characters.count == 36 else { return nil }
        let hyphens = [8, 13, 18, 23]
        guard hyphens.allSatisfy({ characters[$0] == UInt8(ascii: "-") }) else { return nil }
        let digits = characters.indices.filter { !hyphens.contains($0) }.map { characters[$0] }
        guard let bytes = Hex.decode(String(decoding: digits, as: UTF8.self)), bytes.count == 16 else { return nil }
        self.init(bytes: bytes)
    }

    package var description: String {
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            text += Hex.encode(CollectionOfOne(byte))
        }
        return text
    }
}
