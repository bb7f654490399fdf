import COpenSSL

// libcrypto:  30 44 02 20 r… 02 20 s…     DER, up to 72 bytes
// JWS:        r (32 bytes) | s (32 bytes) RFC 7518 §3.4

/// The two forms of a P-256 signature.
enum ECDSASignature {
    static func joined(der: some Sequence<UInt8>) throws(CryptoError) -> [UInt8] {
        let der = Array(der)
        // SAFETY: the parser moves `start` inside the buffer, which lives until the closure returns.
        let signature = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_ECDSA_SIG(nil, &start, bytes.count)
        }
        let owned = try OpenSSLHandle(signature, release: ECDSA_SIG_free)
        return try padded(ECDSA_SIG_get0_r(owned.pointer)) + padded(ECDSA_SIG_get0_s(owned.pointer))
    }

    /// - Throws: `authenticationFailed` for another length: what libcrypto would make of it is of no interest.
    static func der(joined signature: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard signature.count == 2 * p256NumberBytes else { throw .authenticationFailed }
        let owned = try OpenSSLHandle(ECDSA_SIG_new(), release: ECDSA_SIG_free)
        let r = BN_bin2bn(signature, Int32(p256NumberBytes), nil)
        let s = BN_bin2bn(Array(signature[p256NumberBytes...]), Int32(p256NumberBytes), nil)
        guard let r, let s, ECDSA_SIG_set0(owned.pointer, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            throw .unavailable
        }
        let count = i2d_ECDSA_SIG(owned.pointer, nil)
        guard count > 0 else { throw .unavailable }
        return [UInt8](unsafeUninitializedCapacity: Int(count)) { bytes, initializedCount in
            var end = bytes.baseAddress
            initializedCount = Int(i2d_ECDSA_SIG(owned.pointer, &end))
        }
    }

    /// - Throws: `keyRefused` for a number that has no place in 32 bytes: it is of another curve.
    static func padded(_ number: OpaquePointer?) throws(CryptoError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: p256NumberBytes)
        guard BN_bn2binpad(number, &bytes, Int32(p256NumberBytes)) == Int32(p256NumberBytes) else { throw .keyRefused }
        return bytes
    }
}
