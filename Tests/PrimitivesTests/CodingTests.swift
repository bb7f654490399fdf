import Primitives
import Testing

@Suite("Form and percent coding")
struct CodingTests {
    @Test("a form's fields come in order, decoded, repeated names kept")
    func form() throws {
        let fields = try FormCoding.decode(Array("a=1&b=x+y%21&&a=%C3%BC&flag".utf8))
        #expect(fields.map(\.name) == ["a", "b", "a", "flag"])
        #expect(fields.map(\.value) == ["1", "x y!", "ü", ""])
    }

    @Test(
        "broken escapes and bytes that are not UTF-8 are refused",
        arguments: ["a=%", "a=%4", "a=%zz", "a=%ff", "%c3=1"])
    func malformed(text: String) {
        #expect(throws: FormCoding.FormError.malformed) { try FormCoding.decode(Array(text.utf8)) }
    }

    @Test("more fields than allowed are refused")
    func tooMany() {
        let text = String(repeating: "a=1&", count: 65)
        #expect(throws: FormCoding.FormError.tooManyFields) { try FormCoding.decode(Array(text.utf8)) }
    }

    @Test("a plus is a blank in a form only")
    func plus() {
        #expect(PercentCoding.decode(Array("a+b".utf8)) == Array("a+b".utf8))
        #expect(PercentCoding.encode("a+b/ü~") == "a%2Bb%2F%C3%BC~")
    }

    @Test("hexadecimal takes whole bytes only", arguments: ["0", "0g", "xyz", "é"])
    func hexRefused(text: String) {
        #expect(Hex.decode(text) == nil)
    }

    @Test("hexadecimal goes both ways")
    func hex() {
        #expect(Hex.encode([0, 0xab, 0xff] as [UInt8]) == "00abff")
        #expect(Hex.decode("00ABff") == [0, 0xab, 0xff])
    }
}

@Suite("Search in a text")
struct TextSearchTests {
    @Test("a part is found at the start, inside and at the end", arguments: ["ab", "bc", "cd", "abcd", "ü"])
    func found(part: String) {
        #expect("abcdü".holds(part))
    }

    @Test("what is not there is not found", arguments: ["abd", "dc", "abcdüe", "ad"])
    func notFound(part: String) {
        #expect(!"abcdü".holds(part))
        #expect(!"".holds(part))
    }
}
