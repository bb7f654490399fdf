/// RFC 8725 §3.5 and NIST SP 800-131A want 2048 bits of a modulus. The upper bound keeps a foreign key set from buying
/// processor time with one huge key: a check of 8192 bits takes some 0.3 ms.
let rsaModulusBitsMin = 2048
let rsaModulusBitsMax = 8192

/// Exponents in use are 65537 and 3; a large one makes every check as slow as a signature.
let rsaExponentBytesMax = 4

/// Bytes of an AES-256 key, of a GCM nonce (NIST SP 800-38D §8.2.1) and of its tag.
let aes256KeyBytes = 32
let gcmNonceBytes = 12
let gcmTagBytes = 16

/// Bytes of a coordinate of P-256 and of each half of its signature, and of the longest DER form of the latter.
let p256NumberBytes = 32
let p256DERSignatureBytesMax = 72

/// SEC 2 §2.4.2 calls the curve secp256r1; libcrypto knows both names.
let p256GroupName: StaticString = "P-256"
