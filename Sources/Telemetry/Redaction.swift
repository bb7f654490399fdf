import Primitives

/// The last net below the rule that no secret is ever handed to a log line.
package enum Redaction {
    /// Longer texts are cut: a log line is not a place for bodies.
    static let textCharactersMax = 2_000

    /// Replaces every run of token characters that starts like a JWS header, and cuts what is too long.
    ///
    /// `eyJ` is base64url of `{"`, with which every JSON header starts.
    package static func withoutTokens(_ text: String) -> String {
        // The count of bytes is there at once, the count of characters is not; no text has more of these than of those.
        let isLong = text.utf8.count > textCharactersMax && text.count > textCharactersMax
        let bytes = Array((isLong ? text.prefix(textCharactersMax) + "…" : text[...]).utf8)
        let mark = Array("eyJ".utf8)
        guard var start = bytes.firstIndex(of: mark, from: 0) else { return String(decoding: bytes, as: UTF8.self) }
        var safe: [UInt8] = []
        var rest = 0
        while true {
            safe += bytes[rest..<start] + Array("[redacted]".utf8)
            rest = bytes[start...].firstIndex { !isTokenByte($0) } ?? bytes.count
            guard let next = bytes.firstIndex(of: mark, from: rest) else { break }
            start = next
        }
        return String(decoding: safe + bytes[rest...], as: UTF8.self)
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."),
            UInt8(ascii: "="):
            true
        default: false
        }
    }
}
