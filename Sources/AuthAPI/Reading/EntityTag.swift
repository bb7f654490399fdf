import Crypto
import Primitives

/// A strong validator: base64url of SHA-256, in its quotes. Source: RFC 9110 §8.8.3.
struct EntityTag: Equatable, Sendable {
    let text: String

    init(of content: [UInt8]) {
        text = "\"" + Base64URL.encode(SHA256.hash(content)) + "\""
    }

    /// Whether a cache that sends this `If-None-Match` has the content already.
    ///
    /// `*` and lists are known; the comparison is the weak one (RFC 9110 §13.1.2). A malformed rest is not looked at:
    /// the whole answer is then the safe one.
    func matches(ifNoneMatch condition: String) -> Bool {
        var rest = Array(condition.utf8)[...]
        Self.skipBlanks(&rest)
        if rest.first == UInt8(ascii: "*") {
            rest.removeFirst()
            Self.skipBlanks(&rest)
            return rest.isEmpty
        }
        while true {
            Self.skipBlanks(&rest)
            if rest.first == UInt8(ascii: ",") {
                rest.removeFirst()
                continue
            }
            if rest.starts(with: Array("W/".utf8)) { rest = rest.dropFirst(2) }
            guard rest.first == UInt8(ascii: "\""),
                let end = rest.dropFirst().firstIndex(of: UInt8(ascii: "\""))
            else { return false }
            if rest[...end].elementsEqual(text.utf8) { return true }
            rest = rest[(end + 1)...]
        }
    }

    private static func skipBlanks(_ rest: inout ArraySlice<UInt8>) {
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 }
    }
}
