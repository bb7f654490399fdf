import Crypto
import Foundation
import Primitives

/// The forms in which a secret could lie in a dump, and the search for them.
struct SecretForms {
    /// Text as it would stand there: itself, hexadecimal, and base64 in its three alignments and both alphabets.
    private(set) var texts: Set<String> = []
    private(set) var bytes: Set<[UInt8]> = []

    mutating func add(_ text: String) {
        texts.insert(text)
        add(Array(text.utf8))
    }

    mutating func add(_ secret: [UInt8]) {
        for form in [secret, secret.reversed()] {
            bytes.insert(form)
            texts.insert(Hex.encode(form))
            texts.insert(Hex.encode(form).uppercased())
            for lead in 0..<3 {
                // The first and the last characters also depend on the neighbours.
                let encoded = Base64.encode([UInt8](repeating: 0, count: lead) + form).filter { $0 != "=" }
                let inner = String(encoded.dropFirst(lead == 0 ? 0 : lead + 1).dropLast())
                texts.insert(inner)
                texts.insert(inner.replacing("+", with: "-").replacing("/", with: "_"))
            }
        }
    }

    /// Of PKCS #8 and of the key inside: the whole, and each number but the public modulus.
    mutating func add(privateKey der: [UInt8]) throws {
        add(der)
        let modulus = try RSAPrivateKey(pkcs8DER: der).publicKey.modulus
        for number in DERIntegers.all(in: der) where number.count >= 64 && number != modulus { add(number) }
    }

    /// The forms that a dump holds: in its text, or in what its hexadecimal and base64 decode to.
    func found(in dump: String) -> [String] {
        let values = Self.binaryValues(dump)
        return texts.filter { dump.contains($0) }
            + bytes.filter { form in values.contains { $0.firstRange(of: form) != nil } }.map { Hex.encode($0) }
    }

    /// Private keys that a dump holds for everybody, whoever's they are: PEM, DER and JWK.
    static func privateKeys(in dump: String) -> [String] {
        var found: [String] = []
        let values = binaryValues(dump)
        let texts = [dump] + values.map { String(decoding: $0, as: UTF8.self) }
        for text in texts {
            if text.contains("PRIVATE KEY") { found.append("PEM") }
            if text.contains(#/"(d|p|q|dp|dq|qi|k)"\s*:\s*"[A-Za-z0-9_\-]{16,}"/#) { found.append("JWK") }
        }
        // RSA's OID, and the integer 0 or 1 that begins PKCS #8 and PKCS #1.
        let marks: [[UInt8]] = [
            [0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01],
            [0x02, 0x01, 0x00, 0x02, 0x82],
        ]
        for mark in marks where values.contains(where: { $0.firstRange(of: mark) != nil }) { found.append("DER") }
        return found
    }

    /// Every run of hexadecimal or base64 of some length, decoded.
    private static func binaryValues(_ dump: String) -> [[UInt8]] {
        let hex = dump.matches(of: #/[0-9A-Fa-f]{32,}/#).compactMap { Hex.decode($0.output.lowercased()) }
        let base64 = dump.matches(of: #/[A-Za-z0-9+\/_\-]{40,}/#).compactMap { match -> [UInt8]? in
            let text = match.output.replacing("+", with: "-").replacing("/", with: "_")
            return Base64URL.decode(String(text.prefix(text.count / 4 * 4)))
        }
        return hex + base64
    }
}

/// The integers of a DER text, also of one that lies in an octet string.
enum DERIntegers {
    static func all(in bytes: [UInt8]) -> [[UInt8]] {
        var rest = bytes[...]
        var found: [[UInt8]] = []
        while let (tag, content) = element(&rest) {
            switch tag {
            case 0x02: found.append(Array(content.drop { $0 == 0 }))
            case 0x30, 0x04: found += all(in: Array(content))
            default: break
            }
        }
        return found
    }

    private static func element(_ rest: inout ArraySlice<UInt8>) -> (UInt8, ArraySlice<UInt8>)? {
        guard let tag = rest.popFirst(), let first = rest.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            length = 0
            for _ in 0..<(first & 0x7f) { length = length << 8 | Int(rest.popFirst() ?? 0) }
        }
        guard length <= rest.count else { return nil }
        defer { rest = rest.dropFirst(length) }
        return (tag, rest.prefix(length))
    }
}
