import Crypto
import Primitives
import Testing

/// Gives the same bytes again and again: fixes the nonce of a published vector.
struct FixedRandom: RandomSource {
    let value: [UInt8]

    func bytes(_ count: Int) -> [UInt8] {
        precondition(count == value.count, "the vector has a nonce of \(value.count) bytes")
        return value
    }
}

@Suite("AES-256-GCM")
struct AES256GCMTests {
    private let key = Secret([UInt8](repeating: 7, count: 32))

    @Test("the vectors of the GCM specification are met both ways")
    func vectors() throws {
        let zeroKey = String(repeating: "00", count: 32)
        let featureKey = String(repeating: "feffe9928665731c6d6a8f9467308308", count: 2)
        let vectors: [(key: String, nonce: String, plaintext: String, additional: String, sealed: String)] = [
            (zeroKey, "000000000000000000000000", "", "", "530f8afbc74536b9a963b4f1c4cb738b"),
            (
                zeroKey, "000000000000000000000000", "00000000000000000000000000000000", "",
                "cea7403d4d606b6e074ec5d3baf39d18" + "d0d1c8a799996bf0265b98b5d48ab919"
            ),
            (
                featureKey, "cafebabefacedbaddecaf888",
                "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                    + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
                "feedfacedeadbeeffeedfacedeadbeefabaddad2",
                "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                    + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662" + "76fc6ece0f4e1768cddf8853bb2d551b"
            ),
        ]
        for vector in vectors {
            let key = Secret(try #require(Hex.decode(vector.key)))
            let nonce = try #require(Hex.decode(vector.nonce))
            let plaintext = try #require(Hex.decode(vector.plaintext))
            let additional = try #require(Hex.decode(vector.additional))
            let sealed = try AES256GCM.seal(
                plaintext, key: key, additionalData: additional, random: FixedRandom(value: nonce))
            #expect(Hex.encode(sealed) == vector.nonce + vector.sealed)
            #expect(try AES256GCM.open(sealed, key: key, additionalData: additional) == plaintext)
        }
    }

    @Test("every flipped bit and every cut is refused")
    func tampering() throws {
        let sealed = try AES256GCM.seal(Array("secret".utf8), key: key, additionalData: [1], random: SystemRandom())
        for index in sealed.indices {
            for bit in 0..<8 {
                var changed = sealed
                changed[index] ^= 1 << UInt8(bit)
                #expect(throws: CryptoError.authenticationFailed) {
                    try AES256GCM.open(changed, key: key, additionalData: [1])
                }
            }
        }
        for count in 0..<sealed.count {
            #expect(throws: CryptoError.authenticationFailed) {
                try AES256GCM.open(Array(sealed.prefix(count)), key: key, additionalData: [1])
            }
        }
        #expect(throws: CryptoError.authenticationFailed) {
            try AES256GCM.open(sealed + [0], key: key, additionalData: [1])
        }
    }

    @Test("another key or other additional data does not open")
    func binding() throws {
        let sealed = try AES256GCM.seal([9], key: key, additionalData: [1], random: SystemRandom())
        #expect(throws: CryptoError.authenticationFailed) {
            try AES256GCM.open(sealed, key: Secret([UInt8](repeating: 8, count: 32)), additionalData: [1])
        }
        for additional in [[], [2], [1, 1]] as [[UInt8]] {
            #expect(throws: CryptoError.authenticationFailed) {
                try AES256GCM.open(sealed, key: key, additionalData: additional)
            }
        }
    }

    @Test("one text sealed twice gives two texts")
    func nonces() throws {
        let first = try AES256GCM.seal([9], key: key, additionalData: [], random: SystemRandom())
        #expect(try AES256GCM.seal([9], key: key, additionalData: [], random: SystemRandom()) != first)
    }
}
