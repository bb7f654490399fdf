/// What went wrong with a key or a sealed text; it holds neither.
package enum CryptoError: Error, Equatable, Sendable {
    /// Changed, cut short, or sealed for another place: the text is not what we sealed.
    case authenticationFailed
    /// Well-formed, but no key-encryption key at hand has sealed it.
    case unknownKey
    /// A key that we do not use: malformed, weak, or of another kind.
    case keyRefused
    /// libcrypto could not do it, which happens for want of memory or of entropy.
    case unavailable
}
