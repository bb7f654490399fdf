import Crypto
package import Primitives

/// The key that a client stores beside a refresh token and sends with it: 16–128 of `A-Za-z0-9._-`.
///
/// It belongs to the stored token, not to an attempt. Only a keyed hash of it is kept.
package struct IdempotencyKey: Sendable {
    private let text: Secret<String>

    /// Quotes around the value are ignored, as the HTTP field is an sf-string for some clients.
    package init(_ presented: String) throws(RequestFault) {
        var text = presented[...]
        if text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") { text = text.dropFirst().dropLast() }
        guard (16...128).contains(text.utf8.count), text.utf8.allSatisfy(DeviceMetadata.isIdentifier) else {
            throw .idempotencyKeyMalformed
        }
        self.text = Secret(String(text))
    }

    /// 16 bytes, keyed by the device session's own secret: equal keys of two sessions do not show as equal.
    package func hash(for secret: Secret<[UInt8]>) -> [UInt8] {
        Array(HMACSHA256.code(key: secret.exposed, message: Array("idempotency-key\0\(text.exposed)".utf8)).prefix(16))
    }
}

extension IdempotencyKey: Equatable {
    package static func == (left: IdempotencyKey, right: IdempotencyKey) -> Bool {
        areEqualInConstantTime(Array(left.text.exposed.utf8), Array(right.text.exposed.utf8))
    }
}
