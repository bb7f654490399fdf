import COpenSSL
import Primitives

/// Source: FIPS 180-4.
package enum SHA256 {
    package static let bytesCount = 32

    package static func hash(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: bytesCount) { digest, count in
            let status = EVP_Digest(bytes, bytes.count, digest.baseAddress, nil, Algorithm.sha256, nil)
            precondition(status == 1, "SHA-256 cannot fail on bytes in memory")
            count = bytesCount
        }
    }
}

/// Source: RFC 2104, FIPS 198-1.
package enum HMACSHA256 {
    package static func code(key: [UInt8], message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: SHA256.bytesCount) { code, count in
            let result = HMAC(
                Algorithm.sha256, key, Int32(key.count), message, message.count, code.baseAddress, nil)
            precondition(result != nil, "HMAC-SHA-256 cannot fail on bytes in memory")
            count = SHA256.bytesCount
        }
    }

    /// Compares in constant time.
    package static func isValid(_ code: [UInt8], key: [UInt8], message: [UInt8]) -> Bool {
        areEqualInConstantTime(code, self.code(key: key, message: message))
    }
}
