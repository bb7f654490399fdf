import Crypto
import JSON
import Primitives
import Testing

@Suite("RS256 signatures")
struct RSASignatureTests {
    @Test("of Wycheproof's signatures the valid pass, the invalid and the merely acceptable do not")
    func verification() throws {
        let file = try WycheproofFile("rsa_signature_2048_sha256_test.json")
        var counts: [String: Int] = [:]
        for group in file.groups {
            let numbers = try group.object("publicKey")
            let key = try RSAPublicKey(
                modulus: try number(numbers.text("modulus")), exponent: try number(numbers.text("publicExponent")))
            for test in group.tests {
                let result = try test.text("result")
                let message = try #require(Hex.decode(try test.text("msg")))
                let signature = try #require(Hex.decode(try test.text("sig")))
                counts[result, default: 0] += 1
                #expect(
                    key.isValidSignature(signature, of: message) == (result == "valid"),
                    "tcId \(test["tcId"]?.integerValue ?? 0): \(test["comment"]?.stringValue ?? "")")
            }
        }
        // The acceptable one lacks the NULL of the digest's algorithm; RFC 8017 §9.2 wants it.
        #expect(counts == ["valid": 9, "invalid": 249, "acceptable": 1])
        #expect(counts.values.reduce(0, +) == Int(file.statedCount))
    }

    @Test("Wycheproof's keys give exactly its signatures")
    func signing() throws {
        let file = try WycheproofFile("rsa_pkcs1_2048_sig_gen_test.json")
        var signed = 0
        var ofOtherHashes: [String: Int] = [:]
        for group in file.groups {
            let hash = try group.text("sha")
            guard hash == "SHA-256" else {
                ofOtherHashes[hash, default: 0] += group.tests.count
                continue
            }
            let der = try #require(Hex.decode(try group.text("privateKeyPkcs8")))
            let key = try RSAPrivateKey(pkcs8DER: der)
            #expect(key.pkcs8DER().exposed == der)
            for test in group.tests {
                let message = try #require(Hex.decode(try test.text("msg")))
                #expect(Hex.encode(try key.sign(message)) == (try test.text("sig")))
                signed += 1
            }
        }
        #expect(signed == 10)
        // RS256 knows SHA-256 only: these are no tests of ours, and none of another hash is overlooked.
        #expect(Set(ofOtherHashes.keys) == ["SHA-1", "SHA-224", "SHA-384", "SHA-512"])
        #expect(signed + ofOtherHashes.values.reduce(0, +) == Int(file.statedCount))
    }

    @Test("a signature stands for its message, its key and its length")
    func binding() throws {
        let key = TestKeys.first
        let message = Array("message".utf8)
        let signature = try key.sign(message)
        #expect(signature.count == 256)
        #expect(try key.sign(message) == signature)
        #expect(key.publicKey.isValidSignature(signature, of: message))
        #expect(!key.publicKey.isValidSignature(signature, of: Array("Message".utf8)))
        #expect(!key.publicKey.isValidSignature(signature, of: []))
        #expect(!TestKeys.second.publicKey.isValidSignature(signature, of: message))
        #expect(!key.publicKey.isValidSignature([], of: message))
        #expect(!key.publicKey.isValidSignature(Array(signature.dropLast()), of: message))
        #expect(!key.publicKey.isValidSignature([0] + signature, of: message))
        #expect(!key.publicKey.isValidSignature(signature + [0], of: message))
        #expect(!key.publicKey.isValidSignature(key.publicKey.modulus, of: message))
        #expect(key.publicKey.isValidSignature(signature, of: message), "a refusal leaves nothing behind")
    }

    @Test("threads share a key")
    func concurrency() async throws {
        let key = TestKeys.first
        let expected = try key.sign(Array("shared".utf8))
        let agreed = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    (0..<20).allSatisfy { _ in
                        (try? key.sign(Array("shared".utf8))) == expected
                            && key.publicKey.isValidSignature(expected, of: Array("shared".utf8))
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(agreed == [true, true, true, true])
    }

    /// Wycheproof writes DER integers: a zero byte in front of a set sign bit.
    private func number(_ hex: String) throws -> [UInt8] {
        Array(try #require(Hex.decode(hex)).drop { $0 == 0 })
    }
}
