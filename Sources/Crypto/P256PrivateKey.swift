import COpenSSL
package import Primitives

/// A key on the curve P-256 that signs ES256. The nonce of a signature is random, so that two signatures of one message
/// differ. A signature takes some 30 us. Source: FIPS 186-5 §6.4, RFC 7518 §3.4.
package final class P256PrivateKey: @unchecked Sendable {
    // SAFETY: both handles are made in `init`, freed in deinit, and only read in between: a signature works on its own
    // copy of the prepared context, and libcrypto lets many threads use a key at once.
    package let publicKey: P256PublicKey
    private let key: OpenSSLHandle
    private let prepared: OpenSSLHandle

    package static func generate() throws(CryptoError) -> P256PrivateKey {
        let context = try OpenSSLHandle(EVP_PKEY_CTX_new_from_name(nil, "EC", nil), release: EVP_PKEY_CTX_free)
        try require(EVP_PKEY_keygen_init(context.pointer))
        try require(EVP_PKEY_CTX_set_group_name(context.pointer, address(of: p256GroupName)))
        var key: OpaquePointer?
        try require(EVP_PKEY_generate(context.pointer, &key))
        return try P256PrivateKey(owning: try OpenSSLHandle(key, release: EVP_PKEY_free))
    }

    /// PKCS #8 (RFC 5958), not encrypted, DER: the content of Apple's `.p8` files.
    ///
    /// - Throws: `keyRefused` for anything else, trailing bytes, another kind of key or curve, and a key whose parts do
    ///   not belong together.
    package convenience init(pkcs8DER der: [UInt8]) throws(CryptoError) {
        let key = try PKCS8.read(der)
        guard EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_EC else { throw .keyRefused }
        try self.init(owning: key)
        let probe = Array("sallyport key check".utf8)
        guard publicKey.isValidSignature(try sign(probe), of: probe) else { throw .keyRefused }
    }

    private init(owning key: consuming OpenSSLHandle) throws(CryptoError) {
        // A key of another curve gives a point that does not lie on this one.
        publicKey = try P256PublicKey(
            x: Self.coordinate(OSSL_PKEY_PARAM_EC_PUB_X, of: key), y: Self.coordinate(OSSL_PKEY_PARAM_EC_PUB_Y, of: key)
        )
        prepared = try OpenSSLHandle(EVP_MD_CTX_new(), release: EVP_MD_CTX_free)
        try require(EVP_DigestSignInit(prepared.pointer, nil, Algorithm.sha256, nil, key.pointer))
        self.key = key
    }

    /// PKCS #8, DER; the same bytes for the same key.
    package func pkcs8DER() -> Secret<[UInt8]> { PKCS8.write(key) }

    /// - Returns: r and s, 32 bytes each. Source: RFC 7518 §3.4.
    package func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        let context = try OpenSSLHandle(EVP_MD_CTX_new(), release: EVP_MD_CTX_free)
        try require(EVP_MD_CTX_copy_ex(context.pointer, prepared.pointer))
        var der = [UInt8](repeating: 0, count: p256DERSignatureBytesMax)
        var count = der.count
        try require(EVP_DigestSign(context.pointer, &der, &count, message, message.count))
        return try ECDSASignature.joined(der: der.prefix(count))
    }

    private static func coordinate(
        _ name: String, of key: borrowing OpenSSLHandle
    ) throws(CryptoError) -> [UInt8] {
        var pointer: OpaquePointer?
        try require(EVP_PKEY_get_bn_param(key.pointer, name, &pointer), else: .keyRefused)
        let number = try OpenSSLHandle(pointer, release: BN_free)
        return try ECDSASignature.padded(number.pointer)
    }
}
