package import AuthDomain
package import Crypto

/// Makes RS256 signatures, some of them at once.
package protocol SignatureEngine: Sendable {
    /// How many signatures one call makes for little more than the price of one; at least 1.
    var lanes: Int { get }

    /// Keeps its caller's thread until it is done.
    ///
    /// - Parameter batch: 1 to `lanes` requests, of any keys.
    /// - Returns: the signatures, in the order asked for.
    func sign(_ batch: [SignatureRequest]) throws(CryptoError) -> [[UInt8]]
}

/// One by one, by libcrypto.
package struct OpenSSLEngine: SignatureEngine {
    package let lanes = 1

    package init() {}

    package func sign(_ batch: [SignatureRequest]) throws(CryptoError) -> [[UInt8]] {
        var signatures: [[UInt8]] = []
        for request in batch { signatures.append(try request.key.sign(request.message)) }
        return signatures
    }
}
