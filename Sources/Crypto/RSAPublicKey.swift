import COpenSSL

/// An RSA key that checks RS256 signatures: RSASSA-PKCS1-v1_5 with SHA-256. Source: RFC 8017 §8.2, RFC 7518 §3.3.
package final class RSAPublicKey: @unchecked Sendable {
    // SAFETY: both handles are made in `init`, freed in deinit, and only read in between: a check works on its own copy
    // of the prepared context, and libcrypto lets many threads read a key at once.
    /// Big-endian, without leading zeros.
    package let modulus: [UInt8]
    package let exponent: [UInt8]
    private let key: OpenSSLHandle
    private let prepared: OpenSSLHandle

    /// Both numbers big-endian, without leading zeros.
    ///
    /// - Throws: `keyRefused` outside 2048 to 8192 bits, for an even modulus, an exponent that is even, below 3 or
    ///   longer than 32 bits, leading zeros, and the fingerprint of Infineon's broken generator.
    package init(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) {
        guard Self.isAcceptable(modulus: modulus, exponent: exponent) else { throw .keyRefused }
        self.modulus = modulus
        self.exponent = exponent
        key = try Self.publicKey(modulus: modulus, exponent: exponent)
        prepared = try OpenSSLHandle(EVP_MD_CTX_new(), release: EVP_MD_CTX_free)
        try require(EVP_DigestVerifyInit(prepared.pointer, nil, Algorithm.sha256, nil, key.pointer))
    }

    package func isValidSignature(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        // RFC 8017 §8.2.2 step 1: a signature is as long as the modulus, leading zeros included.
        guard signature.count == modulus.count else { return false }
        guard let context = try? OpenSSLHandle(EVP_MD_CTX_new(), release: EVP_MD_CTX_free) else { return false }
        return succeeded(EVP_MD_CTX_copy_ex(context.pointer, prepared.pointer))
            && succeeded(EVP_DigestVerify(context.pointer, signature, signature.count, message, message.count))
    }

    private static func isAcceptable(modulus: [UInt8], exponent: [UInt8]) -> Bool {
        guard let modulusEnd = modulus.last, let exponentEnd = exponent.last else { return false }
        return modulus.first != 0 && exponent.first != 0
            && (rsaModulusBitsMin...rsaModulusBitsMax).contains(bits(of: modulus))
            && modulusEnd & 1 == 1
            && exponentEnd & 1 == 1 && exponent != [1] && exponent.count <= rsaExponentBytesMax
            && !ROCAFingerprint.matches(modulus)
    }

    /// Of a number without leading zeros.
    private static func bits(of number: [UInt8]) -> Int {
        number.count * 8 - (number.first?.leadingZeroBitCount ?? 0)
    }

    private static func publicKey(modulus: [UInt8], exponent: [UInt8]) throws(CryptoError) -> OpenSSLHandle {
        let n = try OpenSSLHandle(BN_bin2bn(modulus, Int32(modulus.count), nil), release: BN_free)
        let e = try OpenSSLHandle(BN_bin2bn(exponent, Int32(exponent.count), nil), release: BN_free)
        let builder = try OpenSSLHandle(OSSL_PARAM_BLD_new(), release: OSSL_PARAM_BLD_free)
        try require(OSSL_PARAM_BLD_push_BN(builder.pointer, address(of: "n"), n.pointer))
        try require(OSSL_PARAM_BLD_push_BN(builder.pointer, address(of: "e"), e.pointer))
        guard let parameters = OSSL_PARAM_BLD_to_param(builder.pointer) else { throw .unavailable }
        defer { OSSL_PARAM_free(parameters) }
        let context = try OpenSSLHandle(EVP_PKEY_CTX_new_from_name(nil, "RSA", nil), release: EVP_PKEY_CTX_free)
        try require(EVP_PKEY_fromdata_init(context.pointer))
        var key: OpaquePointer?
        try require(EVP_PKEY_fromdata(context.pointer, &key, sallyport_evp_public_key, parameters), else: .keyRefused)
        return try OpenSSLHandle(key, release: EVP_PKEY_free)
    }
}

extension RSAPublicKey: Equatable {
    package static func == (left: RSAPublicKey, right: RSAPublicKey) -> Bool {
        left.modulus == right.modulus && left.exponent == right.exponent
    }
}
