import Primitives
import Testing

@Suite("Base64url")
struct Base64URLTests {
    @Test(
        "the vectors of RFC 4648 go both ways",
        arguments: [("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE")])
    func vectors(plain: String, coded: String) {
        #expect(Base64URL.encode(Array(plain.utf8)) == coded)
        #expect(Base64URL.decode(coded) == Array(plain.utf8))
    }

    @Test("the URL alphabet is used", arguments: [([0xfb, 0xff] as [UInt8], "-_8")])
    func alphabet(bytes: [UInt8], coded: String) {
        #expect(Base64URL.encode(bytes) == coded)
        #expect(Base64URL.decode(coded) == bytes)
    }

    @Test(
        "what is not the one text of a value is refused",
        arguments: ["Zg==", "Zg=", "Z", "Zm9vY", "+/8", "Zm9v Yg", "Zh", "Zm9", "Zm8\n", "Zm8é"])
    func refused(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test("standard base64 wants its padding", arguments: ["Zg", "Zg=", "Zg===", "=", "Zh=="])
    func standardRefused(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test("standard base64 goes both ways", arguments: [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v")])
    func standard(plain: String, coded: String) {
        #expect(Base64.encode(Array(plain.utf8)) == coded)
        #expect(Base64.decode(coded) == Array(plain.utf8))
    }
}
