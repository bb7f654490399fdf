import COpenSSL

/// A point of the curve P-256 that checks ES256 signatures. Source: FIPS 186-5 §6.4, RFC 7518 §3.4 and §6.2.1.
package final class P256PublicKey: @unchecked Sendable {
    // SAFETY: both handles are made in `init`, freed in deinit, and only read in between: a check works on its own copy
    // of the prepared context, and libcrypto lets many threads read a key at once.
    /// Coordinates, big-endian, 32 bytes each.
    package let x: [UInt8]
    package let y: [UInt8]
    private let key: OpenSSLHandle
    private let prepared: OpenSSLHandle

    /// - Throws: `keyRefused` unless both have 32 bytes and the point lies on the curve.
    package init(x: [UInt8], y: [UInt8]) throws(CryptoError) {
        guard x.count == p256NumberBytes, y.count == p256NumberBytes else { throw .keyRefused }
        self.x = x
        self.y = y
        key = try Self.publicKey([4] + x + y)
        prepared = try OpenSSLHandle(EVP_MD_CTX_new(), release: EVP_MD_CTX_free)
        try require(EVP_DigestVerifyInit(prepared.pointer, nil, Algorithm.sha256, nil, key.pointer))
    }

    /// - Parameter signature: r and s, 32 bytes each.
    package func isValidSignature(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let der = try? ECDSASignature.der(joined: signature),
            let context = try? OpenSSLHandle(EVP_MD_CTX_new(), release: EVP_MD_CTX_free)
        else { return false }
        return succeeded(EVP_MD_CTX_copy_ex(context.pointer, prepared.pointer))
            && succeeded(EVP_DigestVerify(context.pointer, der, der.count, message, message.count))
    }

    /// - Parameter point: `04 | x | y`. Source: SEC 1 §2.3.3.
    private static func publicKey(_ point: [UInt8]) throws(CryptoError) -> OpenSSLHandle {
        let context = try OpenSSLHandle(EVP_PKEY_CTX_new_from_name(nil, "EC", nil), release: EVP_PKEY_CTX_free)
        try require(EVP_PKEY_fromdata_init(context.pointer))
        var key: OpaquePointer?
        let status = point.withUnsafeBytes { bytes in
            // SAFETY: the parameters point to literals and into the buffer, which lives until the closure returns;
            // libcrypto only reads there.
            var parameters = [
                OSSL_PARAM_construct_utf8_string(
                    address(of: "group"), UnsafeMutablePointer(mutating: address(of: p256GroupName)), 0),
                OSSL_PARAM_construct_octet_string(
                    address(of: "pub"), UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count),
                OSSL_PARAM_construct_end(),
            ]
            return EVP_PKEY_fromdata(context.pointer, &key, sallyport_evp_public_key, &parameters)
        }
        // A point off the curve is refused here: an answer to one would tell of a private key (CVE-2015-7940).
        try require(status, else: .keyRefused)
        return try OpenSSLHandle(key, release: EVP_PKEY_free)
    }
}

extension P256PublicKey: Equatable {
    package static func == (left: P256PublicKey, right: P256PublicKey) -> Bool {
        left.x == right.x && left.y == right.y
    }
}
