package import Primitives

/// Names one request in its answer and in every log line of it: 16 random bytes as base64url.
package struct RequestID: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(random: some RandomSource) {
        description = Base64URL.encode(random.bytes(16))
    }
}
