import Crypto
import Primitives
import Testing

@Suite("Hashes and random bytes")
struct HashingTests {
    @Test(
        "SHA-256 gives the values of FIPS 180-4's examples",
        arguments: [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
        ])
    func sha256(text: String, digest: String) {
        #expect(Hex.encode(SHA256.hash(Array(text.utf8))) == digest)
    }

    @Test("HMAC-SHA-256 gives the values of RFC 4231")
    func hmac() {
        let vectors: [(key: [UInt8], message: String, code: String)] = [
            (
                [UInt8](repeating: 0x0b, count: 20), "Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                Array("Jefe".utf8), "what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                [UInt8](repeating: 0xaa, count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
            // Both empty: python3's hmac agrees.
            ([], "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
        ]
        for (key, message, code) in vectors {
            #expect(Hex.encode(HMACSHA256.code(key: key, message: Array(message.utf8))) == code)
        }
    }

    @Test("a code is valid whole, for its key and its message only")
    func validity() {
        let code = HMACSHA256.code(key: [1], message: [2])
        #expect(HMACSHA256.isValid(code, key: [1], message: [2]))
        #expect(!HMACSHA256.isValid(code, key: [2], message: [2]))
        #expect(!HMACSHA256.isValid(code, key: [1], message: [1]))
        #expect(!HMACSHA256.isValid(Array(code.dropLast()), key: [1], message: [2]))
        #expect(!HMACSHA256.isValid([], key: [1], message: [2]))
    }

    @Test("the system's random bytes have the length asked for and do not repeat", arguments: [0, 1, 16, 1000])
    func random(count: Int) {
        let bytes = SystemRandom().bytes(count)
        #expect(bytes.count == count)
        if count >= 16 { #expect(bytes != SystemRandom().bytes(count)) }
    }
}
