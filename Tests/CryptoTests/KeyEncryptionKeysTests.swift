import Crypto
import Primitives
import Testing

@Suite("Key-encryption keys")
struct KeyEncryptionKeysTests {
    private static func secret(_ byte: UInt8) -> Secret<[UInt8]> {
        Secret([UInt8](repeating: byte, count: 32))
    }

    private static func keys(_ bytes: UInt8...) throws -> KeyEncryptionKeys {
        try KeyEncryptionKeys(bytes.map(secret))
    }

    @Test("what is sealed opens in its own context")
    func roundTrip() throws {
        let keys = try Self.keys(1)
        for plaintext in [[], [0], Array("private key".utf8)] as [[UInt8]] {
            let sealed = try keys.seal(plaintext, context: "signing-key:a", random: SystemRandom())
            #expect(sealed.count == plaintext.count + 37)
            #expect(sealed.first == 1)
            #expect(try keys.open(sealed, context: "signing-key:a").exposed == plaintext)
        }
    }

    @Test("a text moved to another context does not open", arguments: ["", "signing-key:b", "signing-key:a "])
    func context(other: String) throws {
        let keys = try Self.keys(1)
        let sealed = try keys.seal([1], context: "signing-key:a", random: SystemRandom())
        #expect(throws: CryptoError.authenticationFailed) { try keys.open(sealed, context: other) }
    }

    @Test("the first key seals, every key opens, a missing one is named as missing")
    func rotation() throws {
        let old = try Self.keys(1)
        let both = try Self.keys(2, 1)
        let new = try Self.keys(2)
        let sealedByOld = try old.seal([5], context: "c", random: SystemRandom())
        let sealedByBoth = try both.seal([5], context: "c", random: SystemRandom())
        #expect(try both.open(sealedByOld, context: "c").exposed == [5])
        #expect(try new.open(sealedByBoth, context: "c").exposed == [5])
        #expect(throws: CryptoError.unknownKey) { try new.open(sealedByOld, context: "c") }
        #expect(throws: CryptoError.unknownKey) { try old.open(sealedByBoth, context: "c") }
        #expect(both.needsResealing(sealedByOld))
        #expect(!both.needsResealing(sealedByBoth))
        #expect(both.sealingKeyID == new.sealingKeyID)
        #expect(both.sealingKeyID != old.sealingKeyID)
    }

    @Test("every flipped bit and every cut is refused")
    func tampering() throws {
        let keys = try Self.keys(1, 2)
        let sealed = try keys.seal(Array("push token".utf8), context: "c", random: SystemRandom())
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: (1...8).contains(index) ? CryptoError.unknownKey : .authenticationFailed) {
                try keys.open(changed, context: "c")
            }
        }
        for count in 0..<sealed.count {
            #expect(throws: CryptoError.authenticationFailed) {
                try keys.open(Array(sealed.prefix(count)), context: "c")
            }
        }
    }

    @Test("the id of another key of ours in front does not open either")
    func swappedID() throws {
        let keys = try Self.keys(1, 2)
        let sealed = try keys.seal([1], context: "c", random: SystemRandom())
        let other = try Self.keys(2).seal([1], context: "c", random: SystemRandom())
        #expect(throws: CryptoError.authenticationFailed) {
            try keys.open(Array(other.prefix(9)) + sealed.dropFirst(9), context: "c")
        }
    }

    @Test("no key, a key of another length and a repeated key are refused")
    func configuration() {
        let refused: [[Secret<[UInt8]>]] = [
            [], [Secret([])], [Secret([UInt8](repeating: 1, count: 31))], [Secret([UInt8](repeating: 1, count: 33))],
            [Self.secret(1), Secret([1])], [Self.secret(1), Self.secret(2), Self.secret(1)],
        ]
        for secrets in refused {
            #expect(throws: CryptoError.keyRefused) { try KeyEncryptionKeys(secrets) }
        }
    }
}
