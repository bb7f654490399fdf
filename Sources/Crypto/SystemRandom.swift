import COpenSSL
import Primitives

/// The product's random bytes: libcrypto's generator, seeded by the kernel and reseeded after a fork.
package struct SystemRandom: RandomSource {
    package init() {}

    package func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { bytes, initializedCount in
            // Without entropy there is no key and no token worth giving out: better no server than a guessable one.
            precondition(RAND_bytes(bytes.baseAddress, Int32(count)) == 1, "the system gives no random bytes")
            initializedCount = count
        }
    }
}
