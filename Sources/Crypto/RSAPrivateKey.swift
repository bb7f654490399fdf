import COpenSSL
package import Primitives

/// An RSA key that signs RS256: RSASSA-PKCS1-v1_5 with SHA-256, the same bytes for the same message every time.
///
/// A signature takes some 0.4 ms of the calling thread. Source: RFC 8017 §8.2, RFC 7518 §3.3.
package final class RSAPrivateKey: @unchecked Sendable {
    // SAFETY: both handles are made in `init`, freed in deinit, and only read in between: a signature works on its own
    // copy of the prepared context; libcrypto lets many threads use a key at once and locks its blinding itself.
    package let publicKey: RSAPublicKey
    private let key: OpenSSLHandle
    private let prepared: OpenSSLHandle

    /// Takes some 0.1 s for 2048 bits and some seconds for 4096: not for an event loop.
    ///
    /// - Throws: `keyRefused` outside 2048 to 8192 bits.
    package static func generate(bits: Int) throws(CryptoError) -> RSAPrivateKey {
        guard (rsaModulusBitsMin...rsaModulusBitsMax).contains(bits) else { throw .keyRefused }
        let context = try OpenSSLHandle(EVP_PKEY_CTX_new_from_name(nil, "RSA", nil), release: EVP_PKEY_CTX_free)
        try require(EVP_PKEY_keygen_init(context.pointer))
        try require(EVP_PKEY_CTX_set_rsa_keygen_bits(context.pointer, Int32(bits)))
        var key: OpaquePointer?
        try require(EVP_PKEY_generate(context.pointer, &key))
        return try RSAPrivateKey(owning: try OpenSSLHandle(key, release: EVP_PKEY_free))
    }

    /// PKCS #8 (RFC 5958), not encrypted, DER.
    ///
    /// - Throws: `keyRefused` for anything else, trailing bytes, another kind of key, fewer than 2048 bits, and a key
    ///   whose parts do not belong together.
    package convenience init(pkcs8DER der: [UInt8]) throws(CryptoError) {
        let key = try PKCS8.read(der)
        guard EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_RSA else { throw .keyRefused }
        try self.init(owning: key)
        // Parts that do not belong together show here, and not when a client refuses the first token.
        let probe = Array("sallyport key check".utf8)
        guard publicKey.isValidSignature(try sign(probe), of: probe) else { throw .keyRefused }
    }

    private init(owning key: consuming OpenSSLHandle) throws(CryptoError) {
        publicKey = try RSAPublicKey(
            modulus: Self.number(OSSL_PKEY_PARAM_RSA_N, of: key), exponent: Self.number(OSSL_PKEY_PARAM_RSA_E, of: key))
        prepared = try OpenSSLHandle(EVP_MD_CTX_new(), release: EVP_MD_CTX_free)
        try require(EVP_DigestSignInit(prepared.pointer, nil, Algorithm.sha256, nil, key.pointer))
        self.key = key
    }

    /// PKCS #8, DER; the same bytes for the same key.
    package func pkcs8DER() -> Secret<[UInt8]> { PKCS8.write(key) }

    package func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        let context = try OpenSSLHandle(EVP_MD_CTX_new(), release: EVP_MD_CTX_free)
        try require(EVP_MD_CTX_copy_ex(context.pointer, prepared.pointer))
        var signature = [UInt8](repeating: 0, count: publicKey.modulus.count)
        var count = signature.count
        try require(EVP_DigestSign(context.pointer, &signature, &count, message, message.count))
        guard count == signature.count else { throw .unavailable }
        return signature
    }

    private static func number(
        _ name: String, of key: borrowing OpenSSLHandle
    ) throws(CryptoError) -> [UInt8] {
        var pointer: OpaquePointer?
        try require(EVP_PKEY_get_bn_param(key.pointer, name, &pointer), else: .keyRefused)
        let number = try OpenSSLHandle(pointer, release: BN_free)
        let count = Int((BN_num_bits(number.pointer) + 7) / 8)
        return [UInt8](unsafeUninitializedCapacity: count) { bytes, initializedCount in
            initializedCount = Int(BN_bn2bin(number.pointer, bytes.baseAddress))
        }
    }
}
