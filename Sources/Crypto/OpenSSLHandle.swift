import COpenSSL

/// One object of libcrypto, freed when its owner goes.
struct OpenSSLHandle: ~Copyable {
    // SAFETY: the pointer is not copied out of its owner's methods, so that it cannot outlive the owner.
    let pointer: OpaquePointer
    private let release: (OpaquePointer?) -> Void

    /// Takes over what a `_new` function has returned.
    init(_ pointer: OpaquePointer?, release: @escaping (OpaquePointer?) -> Void) throws(CryptoError) {
        guard let pointer else {
            ERR_clear_error()
            throw .unavailable
        }
        self.pointer = pointer
        self.release = release
    }

    deinit {
        release(pointer)
    }
}

/// Whether libcrypto has answered 1. Otherwise the thread's error queue is emptied: TLS on the same thread would read
/// an old entry as its own failure.
func succeeded(_ status: Int32) -> Bool {
    if status == 1 { return true }
    ERR_clear_error()
    return false
}

func require(_ status: Int32, else error: CryptoError = .unavailable) throws(CryptoError) {
    guard succeeded(status) else { throw error }
}

/// For names that libcrypto keeps the address of: a String's bytes would be gone when it reads them.
///
/// SAFETY: a literal's bytes live as long as the process and end with a zero.
func address(of name: StaticString) -> UnsafePointer<CChar> {
    UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
}

/// Algorithms looked up once: a look-up by name costs more than the hash of a short text.
enum Algorithm {
    // SAFETY: set once under the runtime's lock, never freed, and constant for libcrypto.
    nonisolated(unsafe) static let sha256 = present(EVP_MD_fetch(nil, "SHA256", nil))
    nonisolated(unsafe) static let aes256GCM = present(EVP_CIPHER_fetch(nil, "AES-256-GCM", nil))

    private static func present(_ algorithm: OpaquePointer?) -> OpaquePointer {
        guard let algorithm else { preconditionFailure("libcrypto's default provider is not loaded") }
        return algorithm
    }
}
