import Crypto
import Primitives
import Testing

@Suite("P-256 keys")
struct P256KeyTests {
    private let key: P256PrivateKey

    init() throws {
        key = try P256PrivateKey.generate()
    }

    @Test("a key survives export and import, and its public half is the same")
    func roundTrip() throws {
        let der = key.pkcs8DER()
        let copy = try P256PrivateKey(pkcs8DER: der.exposed)
        #expect(copy.publicKey == key.publicKey)
        #expect(copy.pkcs8DER() == der)
        #expect(try key.publicKey.isValidSignature(copy.sign([1]), of: [1]))
        #expect(try P256PrivateKey.generate().publicKey != key.publicKey)
        let fixed = try P256PrivateKey(pkcs8DER: #require(Base64.decode(TestKeys.ec)))
        #expect(try fixed.publicKey.isValidSignature(fixed.sign([2]), of: [2]))
    }

    @Test("a signature has 64 bytes every time, also where a half begins with zeros")
    func length() throws {
        // One half in 256 has a leading zero, which DER leaves out.
        var leadingZeros = 0
        for number in 0..<2_000 where leadingZeros < 3 {
            let message = Array("\(number)".utf8)
            let signature = try key.sign(message)
            #expect(signature.count == 64)
            guard signature[0] == 0 || signature[32] == 0 else { continue }
            leadingZeros += 1
            #expect(key.publicKey.isValidSignature(signature, of: message))
        }
        #expect(leadingZeros > 0)
    }

    @Test("a signature that was changed, cut, padded or made of other numbers is refused")
    func refusedSignatures() throws {
        let message = Array("message".utf8)
        let good = try key.sign(message)
        let order = try #require(Hex.decode("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"))
        let zero = [UInt8](repeating: 0, count: 32)
        let refused: [(String, [UInt8])] = [
            ("nothing", []), ("cut", Array(good.dropLast())), ("longer", good + [0]), ("leading zero", [0] + good),
            // CVE-2022-21449
            ("r and s are 0", zero + zero), ("r is 0", zero + good[32...]), ("s is 0", good[..<32] + zero),
            ("r is the order", order + good[32...]), ("s is the order", good[..<32] + order),
            ("both are the order", order + order), ("halves swapped", Array(good[32...] + good[..<32])),
            ("DER", [0x30, 0x44, 0x02, 0x20] + good[..<32] + [0x02, 0x20] + good[32...]),
        ]
        for (name, signature) in refused {
            #expect(!key.publicKey.isValidSignature(signature, of: message), "\(name)")
        }
        for index in stride(from: 0, to: good.count, by: 7) {
            var changed = good
            changed[index] ^= 0x10
            #expect(!key.publicKey.isValidSignature(changed, of: message), "byte \(index)")
        }
        #expect(key.publicKey.isValidSignature(good, of: message))
        #expect(!key.publicKey.isValidSignature(good, of: message + [0]))
        #expect(try !P256PrivateKey.generate().publicKey.isValidSignature(good, of: message))
    }

    @Test("a point that is not on the curve, or not of 32 bytes a coordinate, is no key")
    func refusedPoints() {
        let (x, y) = (key.publicKey.x, key.publicKey.y)
        let zero = [UInt8](repeating: 0, count: 32)
        var off = y
        off[31] ^= 1
        let refused: [(String, [UInt8], [UInt8])] = [
            ("off the curve", x, off), ("swapped", y, x), ("at infinity", zero, zero), ("empty", [], []),
            ("short", Array(x.dropFirst()), y), ("long", [0] + x, y), ("no y", x, []),
            ("beyond the field", [UInt8](repeating: 0xff, count: 32), y),
        ]
        for (name, x, y) in refused {
            #expect(throws: CryptoError.keyRefused, "\(name)") { try P256PublicKey(x: x, y: y) }
        }
        #expect(throws: Never.self) { try P256PublicKey(x: x, y: y) }
    }

    @Test("what is no P-256 key in PKCS #8 is not imported")
    func imports() throws {
        let der = key.pkcs8DER().exposed
        let refused: [(String, [UInt8])] = [
            ("nothing", []), ("trailing byte", der + [0]), ("cut", Array(der.dropLast())),
            ("RSA", TestKeys.first.pkcs8DER().exposed),
            ("secp256k1", try #require(Base64.decode(TestKeys.secp256k1))),
            ("P-384", try #require(Base64.decode(TestKeys.p384))),
        ]
        for (name, bytes) in refused {
            #expect(throws: CryptoError.keyRefused, "\(name)") { try P256PrivateKey(pkcs8DER: bytes) }
        }
    }
}

@Suite("Keys of either kind")
struct SigningKeyTests {
    @Test("the kind is read from the bytes, and decides the algorithm")
    func kinds() throws {
        let rsa = try SigningKey(pkcs8DER: TestKeys.first.pkcs8DER().exposed)
        #expect(rsa.algorithm == .rs256)
        #expect(rsa.publicKey == .rsa(TestKeys.first.publicKey))
        let p256 = try SigningKey(pkcs8DER: #require(Base64.decode(TestKeys.ec)))
        #expect(p256.algorithm == .es256)
        for key in [rsa, p256] {
            #expect(try key.publicKey.isValidSignature(key.sign([1]), of: [1]))
            #expect(try SigningKey(pkcs8DER: key.pkcs8DER().exposed).publicKey == key.publicKey)
        }
        #expect(try !rsa.publicKey.isValidSignature(p256.sign([1]), of: [1]))
        #expect(try !p256.publicKey.isValidSignature(rsa.sign([1]), of: [1]))
    }

    @Test("bytes of no kind of ours are refused", arguments: ["", "MA==", TestKeys.secp256k1, TestKeys.p384])
    func refused(base64: String) throws {
        let der = try #require(Base64.decode(base64))
        #expect(throws: CryptoError.keyRefused) { try SigningKey(pkcs8DER: der) }
    }
}
