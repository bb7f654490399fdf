import COpenSSL
package import Primitives

/// Authenticated encryption; the sealed text is `nonce (12) | ciphertext | tag (16)`.
///
/// The nonce is random: one key seals at most 2^32 texts. Source: NIST SP 800-38D §8.2.2 and §8.3.
package enum AES256GCM {
    /// - Precondition: a key of 32 bytes.
    package static func seal(
        _ plaintext: [UInt8], key: Secret<[UInt8]>, additionalData: [UInt8], random: some RandomSource
    ) throws(CryptoError) -> [UInt8] {
        precondition(key.exposed.count == aes256KeyBytes, "AES-256 takes a key of 32 bytes")
        let nonce = random.bytes(gcmNonceBytes)
        let context = try OpenSSLHandle(EVP_CIPHER_CTX_new(), release: EVP_CIPHER_CTX_free)
        var count: Int32 = 0
        try require(EVP_EncryptInit_ex2(context.pointer, Algorithm.aes256GCM, key.exposed, nonce, nil))
        try require(EVP_EncryptUpdate(context.pointer, nil, &count, additionalData, Int32(additionalData.count)))

        var ciphertext = [UInt8](repeating: 0, count: plaintext.count)
        try require(EVP_EncryptUpdate(context.pointer, &ciphertext, &count, plaintext, Int32(plaintext.count)))
        // GCM is a stream: the last step writes no bytes, but libcrypto wants room for a block.
        var rest = [UInt8](repeating: 0, count: gcmTagBytes)
        try require(EVP_EncryptFinal_ex(context.pointer, &rest, &count))
        var tag = [UInt8](repeating: 0, count: gcmTagBytes)
        try require(EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_GET_TAG, Int32(gcmTagBytes), &tag))
        return nonce + ciphertext + tag
    }

    /// - Throws: `authenticationFailed` for whatever was not sealed with this key and this additional data.
    /// - Precondition: a key of 32 bytes.
    package static func open(
        _ sealed: [UInt8], key: Secret<[UInt8]>, additionalData: [UInt8]
    ) throws(CryptoError) -> [UInt8] {
        precondition(key.exposed.count == aes256KeyBytes, "AES-256 takes a key of 32 bytes")
        guard sealed.count >= gcmNonceBytes + gcmTagBytes else { throw .authenticationFailed }
        let nonce = Array(sealed.prefix(gcmNonceBytes))
        let ciphertext = Array(sealed.dropFirst(gcmNonceBytes).dropLast(gcmTagBytes))
        var tag = Array(sealed.suffix(gcmTagBytes))

        let context = try OpenSSLHandle(EVP_CIPHER_CTX_new(), release: EVP_CIPHER_CTX_free)
        var count: Int32 = 0
        try require(EVP_DecryptInit_ex2(context.pointer, Algorithm.aes256GCM, key.exposed, nonce, nil))
        try require(EVP_DecryptUpdate(context.pointer, nil, &count, additionalData, Int32(additionalData.count)))
        var plaintext = [UInt8](repeating: 0, count: ciphertext.count)
        try require(EVP_DecryptUpdate(context.pointer, &plaintext, &count, ciphertext, Int32(ciphertext.count)))
        try require(EVP_CIPHER_CTX_ctrl(context.pointer, EVP_CTRL_AEAD_SET_TAG, Int32(gcmTagBytes), &tag))
        // Nothing of the plaintext leaves before this check.
        var rest = [UInt8](repeating: 0, count: gcmTagBytes)
        try require(EVP_DecryptFinal_ex(context.pointer, &rest, &count), else: .authenticationFailed)
        return plaintext
    }
}
