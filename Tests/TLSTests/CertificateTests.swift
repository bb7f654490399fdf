import Foundation
import Primitives
import TLS
import Testing

@Suite("TLS certificates")
struct CertificateTests {
    private func failure(of one: Certificate) -> CertificateError? {
        do throws(CertificateError) {
            _ = try TLSCertificates(certificateFile: one.certificateFile, keyFile: one.keyFile)
            return nil
        } catch {
            return error
        }
    }

    @Test("a pair that belongs together is taken, of either kind", arguments: [Certificate.Kind.p256, .rsa2048])
    func taken(kind: Certificate.Kind) throws {
        let one = try Certificate(kind)
        #expect(failure(of: one) == nil)
        let certificates = try TLSCertificates(certificateFile: one.certificateFile, keyFile: one.keyFile)
        let expiry = try #require(certificates.expiry)
        #expect(expiry.secondsSinceEpoch > Int64(Date().timeIntervalSince1970) + 86_400)
    }

    @Test("a chain behind the certificate is taken, and rubbish in front of it is not")
    func chain() throws {
        let (one, other) = (try Certificate(), try Certificate(name: "other"))
        let text = try String(contentsOfFile: one.certificateFile, encoding: .utf8)
        try one.write(
            text + String(contentsOfFile: other.certificateFile, encoding: .utf8), to: one.certificateFile)
        #expect(failure(of: one) == nil)
        try one.write("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", to: one.certificateFile)
        #expect(failure(of: one) == .certificateMalformed)
    }

    @Test("the key of another certificate is refused, of the same kind and of another")
    func mismatched() throws {
        for kind in [Certificate.Kind.p256, .rsa2048] {
            let (one, other) = (try Certificate(), try Certificate(kind))
            try one.write(String(contentsOfFile: other.keyFile, encoding: .utf8), to: one.keyFile)
            #expect(failure(of: one) == .keyMismatched)
        }
    }

    @Test("files that are missing, empty, a folder or something else are refused by what is wrong with which")
    func files() throws {
        let one = try Certificate()
        let (certificate, key) = (one.certificateFile, one.keyFile)
        func failure(_ certificateFile: String, _ keyFile: String) -> CertificateError? {
            do throws(CertificateError) {
                _ = try TLSCertificates(certificateFile: certificateFile, keyFile: keyFile)
                return nil
            } catch { return error }
        }
        #expect(failure(one.folder + "/none", key) == .certificateUnreadable)
        #expect(failure(certificate, one.folder + "/none") == .keyUnreadable)
        #expect(failure(one.folder, key) == .certificateUnreadable)
        #expect(failure("/dev/zero", key) == .certificateUnreadable)
        #expect(failure("/dev/null", key) == .certificateMalformed)
        #expect(failure(certificate, "/dev/null") == .keyMalformed)
        #expect(failure(key, key) == .certificateMalformed)
        #expect(failure(certificate, certificate) == .keyMalformed)
    }

    @Test("a key behind a pass phrase is refused without asking for it")
    func encrypted() throws {
        let one = try Certificate()
        try one.encryptKey()
        #expect(failure(of: one) == .keyMalformed)
    }

    @Test("an RSA key of 1024 bits is refused as too weak")
    func weak() throws {
        #expect(failure(of: try Certificate(.rsa1024)) == .certificateWeak)
    }

    @Test("a reload that fails changes nothing")
    func failedReload() throws {
        let one = try Certificate()
        let certificates = try TLSCertificates(certificateFile: one.certificateFile, keyFile: one.keyFile)
        let before = certificates.context
        try one.write("", to: one.keyFile)
        #expect(throws: CertificateError.keyMalformed) { try certificates.reload() }
        #expect(certificates.context === before)
        try one.make(name: "later")
        try certificates.reload()
        #expect(certificates.context !== before)
    }
}
