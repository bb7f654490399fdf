import COpenSSL
import Primitives

/// Private keys as bytes: PKCS #8, not encrypted, DER. Source: RFC 5958.
enum PKCS8 {
    /// - Throws: `keyRefused` for anything else, trailing bytes, and a key of a kind that we do not use.
    static func kind(of der: [UInt8]) throws(CryptoError) -> SignatureAlgorithm {
        let key = try read(der)
        if EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_RSA { return .rs256 }
        if EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_EC { return .es256 }
        throw .keyRefused
    }

    /// - Throws: `keyRefused` for anything else, and for trailing bytes.
    static func read(_ der: [UInt8]) throws(CryptoError) -> OpenSSLHandle {
        // SAFETY: the parser moves `rest` inside the buffer, which lives until the closure returns.
        let (info, consumed) = der.withUnsafeBufferPointer { bytes in
            var rest = bytes.baseAddress
            let info = d2i_PKCS8_PRIV_KEY_INFO(nil, &rest, bytes.count)
            return (info, rest.flatMap { end in bytes.baseAddress.map { end - $0 } } ?? 0)
        }
        guard let info else {
            ERR_clear_error()
            throw .keyRefused
        }
        let owned = try OpenSSLHandle(info, release: PKCS8_PRIV_KEY_INFO_free)
        guard consumed == der.count, let key = EVP_PKCS82PKEY(owned.pointer) else {
            ERR_clear_error()
            throw .keyRefused
        }
        return try OpenSSLHandle(key, release: EVP_PKEY_free)
    }

    /// The same bytes for the same key.
    static func write(_ key: borrowing OpenSSLHandle) -> Secret<[UInt8]> {
        guard let info = EVP_PKEY2PKCS8(key.pointer) else { preconditionFailure("no memory to write a key") }
        defer { PKCS8_PRIV_KEY_INFO_free(info) }
        let count = i2d_PKCS8_PRIV_KEY_INFO(info, nil)
        precondition(count > 0, "a key that libcrypto holds can be written")
        return Secret(
            [UInt8](unsafeUninitializedCapacity: Int(count)) { bytes, initializedCount in
                var end = bytes.baseAddress
                initializedCount = Int(i2d_PKCS8_PRIV_KEY_INFO(info, &end))
            })
    }
}
