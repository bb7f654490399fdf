import Crypto
import Primitives
import Testing

@Suite("RSA keys")
struct RSAKeyTests {
    @Test("a key survives export and import, and its public half is the same")
    func roundTrip() throws {
        let der = TestKeys.first.pkcs8DER()
        let copy = try RSAPrivateKey(pkcs8DER: der.exposed)
        #expect(copy.publicKey == TestKeys.first.publicKey)
        #expect(copy.publicKey.modulus.count == 256)
        #expect(copy.publicKey.exponent == [1, 0, 1])
        #expect(copy.pkcs8DER() == der)
        #expect(try copy.sign([1]) == TestKeys.first.sign([1]))
        #expect(TestKeys.first.publicKey != TestKeys.second.publicKey)
    }

    @Test("a public key is made from its numbers")
    func fromNumbers() throws {
        let original = TestKeys.first.publicKey
        let copy = try RSAPublicKey(modulus: original.modulus, exponent: original.exponent)
        #expect(copy == original)
        #expect(copy.isValidSignature(try TestKeys.first.sign([7]), of: [7]))
    }

    @Test("sizes that are not used are not generated", arguments: [-1, 0, 512, 1024, 2047, 8193, 1 << 40])
    func sizes(bits: Int) {
        #expect(throws: CryptoError.keyRefused) { try RSAPrivateKey.generate(bits: bits) }
    }

    @Test("weak and malformed public keys are refused")
    func weakPublicKeys() {
        let good = TestKeys.first.publicKey
        let odd = [UInt8](repeating: 0xc1, count: 256)
        let refused: [(name: String, modulus: [UInt8], exponent: [UInt8])] = [
            ("2047 bits", [0x7f] + good.modulus.dropFirst(), good.exponent),
            ("1024 bits", Array(good.modulus.suffix(128)), good.exponent),
            ("8193 bits", [1] + [UInt8](repeating: 0xc1, count: 1024), good.exponent),
            ("no modulus", [], good.exponent),
            ("leading zero in the modulus", [0] + good.modulus, good.exponent),
            ("even modulus", odd.dropLast() + [0xc0], good.exponent),
            ("no exponent", good.modulus, []),
            ("exponent 0", good.modulus, [0]),
            ("exponent 1", good.modulus, [1]),
            ("exponent 2", good.modulus, [2]),
            ("even exponent", good.modulus, [1, 0, 0]),
            ("leading zero in the exponent", good.modulus, [0, 1, 0, 1]),
            ("exponent of 33 bits", good.modulus, [1, 0, 0, 0, 1]),
        ]
        for (name, modulus, exponent) in refused {
            #expect(throws: CryptoError.keyRefused, "\(name)") {
                try RSAPublicKey(modulus: modulus, exponent: exponent)
            }
        }
        #expect(throws: Never.self) { try RSAPublicKey(modulus: good.modulus, exponent: [3]) }
    }

    @Test("what is no RSA key of 2048 bits in PKCS #8 is not imported")
    func imports() throws {
        let der = TestKeys.first.pkcs8DER().exposed
        let refused: [(String, [UInt8])] = [
            ("nothing", []),
            ("text", Array("-----BEGIN PRIVATE KEY-----".utf8)),
            ("trailing byte", der + [0]),
            ("cut", Array(der.dropLast())),
            ("1024 bits", try #require(Base64.decode(TestKeys.rsa1024))),
            ("elliptic curve", try #require(Base64.decode(TestKeys.ec))),
        ]
        for (name, bytes) in refused {
            #expect(throws: CryptoError.keyRefused, "\(name)") { try RSAPrivateKey(pkcs8DER: bytes) }
        }
    }

    @Test("a damaged key is refused, or signs as before where libcrypto mends it")
    func damage() throws {
        let der = TestKeys.first.pkcs8DER().exposed
        let expected = try TestKeys.first.sign([1])
        var refused = 0
        for index in stride(from: 0, to: der.count, by: 41) {
            var damaged = der
            damaged[index] ^= 0x04
            guard let key = try? RSAPrivateKey(pkcs8DER: damaged) else {
                refused += 1
                continue
            }
            #expect(try key.sign([1]) == expected, "byte \(index)")
        }
        #expect(refused > 5)
    }
}
