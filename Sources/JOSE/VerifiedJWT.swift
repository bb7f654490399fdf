package import JSON
package import Primitives

/// A token that has passed a `JWTPolicy`. Only `JWTVerifier` makes one.
package struct VerifiedJWT: Sendable {
    package let header: JSONObject
    package let kid: String
    package let issuer: String
    /// Not empty, without NUL.
    package let subject: String
    /// As the token lists them; a single text counts as a list of one.
    package let audiences: [String]
    package let issuedAt: Timestamp
    package let expiresAt: Timestamp
    package let claims: JSONObject
}

extension VerifiedJWT: CustomStringConvertible, CustomReflectable {
    /// Claims name people.
    package var description: String { "[verified token]" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
