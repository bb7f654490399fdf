/// Why a token or key set was refused; each case is a decision for the caller.
///
/// It holds no token. `kid` is the header's text and has been proved short and printable.
package enum JOSEError: Error, Equatable, Sendable {
    /// Not a compact JWS, not a JWT, or one with features that we refuse (`crit`, `b64`, `zip`, a nested token).
    case malformed
    case algorithmNotAllowed
    /// Perhaps a key that is not in memory yet: look it up before refusing.
    case unknownKey(kid: String)
    case signatureInvalid
    /// The header's `typ` names another kind of token.
    case typeMismatch
    case issuerMismatch
    case audienceMismatch
    case expired
    /// `nbf` or `iat` lies ahead.
    case notYetValid
    /// A claim is missing or of the wrong type, or its value cannot be right.
    case claimInvalid(String)
}
