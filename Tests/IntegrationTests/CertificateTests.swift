import AuthTesting
import Foundation
import Testing

@Suite("Certificates of a process", .blocking)
struct CertificateTests {
    /// `openssl`'s own pair in a folder that stays until the process ends.
    static func pair(_ name: String) throws -> (certificate: String, key: String) {
        let folder = NSTemporaryDirectory() + "sallyport-pair-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let pair = (certificate: folder + "/certificate.pem", key: folder + "/key.pem")
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = [
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", pair.key,
            "-out", pair.certificate, "-days", "2", "-subj", "/CN=\(name)",
        ]
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return pair
    }

    @Test("one of the two settings without the other is refused by the name of the missing one")
    func half() throws {
        let pair = try Self.pair("a")
        let site = try Site(isMigrated: false)
        for (name, value, missing) in [
            ("SALLYPORT_TLS_CERT_FILE", pair.certificate, "SALLYPORT_TLS_KEY_FILE: "),
            ("SALLYPORT_TLS_KEY_FILE", pair.key, "SALLYPORT_TLS_CERT_FILE: "),
        ] {
            let server = try site.start(settings: [name: value])
            #expect(try server.process.wait() == 1)
            #expect(server.process.errorText.contains(missing + "must be set"))
        }
    }

    @Test("a wrong pair is refused by the name of the setting to look at")
    func wrongPair() throws {
        let (one, other) = (try Self.pair("a"), try Self.pair("b"))
        let site = try Site(isMigrated: false)
        for (certificate, key, line) in [
            (one.certificate, other.key, "SALLYPORT_TLS_KEY_FILE: the key does not belong to the certificate"),
            ("/nowhere", one.key, "SALLYPORT_TLS_CERT_FILE: the certificate file cannot be read"),
            (one.certificate, "/nowhere", "SALLYPORT_TLS_KEY_FILE: the key file cannot be read"),
        ] {
            let server = try site.start(settings: [
                "SALLYPORT_TLS_CERT_FILE": certificate, "SALLYPORT_TLS_KEY_FILE": key,
            ])
            #expect(try server.process.wait() == 1)
            #expect(server.process.errorLines.contains(line), "\(server.process.errorText)")
        }
    }

    @Test("SIGHUP without a certificate changes nothing but the log")
    func hangUp() throws {
        let server = try Site().serve()
        server.process.send(SIGHUP)
        #expect(waitUntil(limit: .seconds(5)) { server.process.errorText.contains("SIGHUP changes nothing") })
        #expect(try AuthClient(server).get("/readyz").status == 200)
        server.process.terminate()
        #expect(try server.process.wait() == 0)
    }

    @Test("SIGHUP with a pair that cannot be served is logged, and the server goes on")
    func badReload() throws {
        let pair = try Self.pair("a")
        let server = try Site().start(settings: [
            "SALLYPORT_TLS_CERT_FILE": pair.certificate, "SALLYPORT_TLS_KEY_FILE": pair.key,
        ])
        #expect(waitUntil(limit: .seconds(20)) { server.process.outputText.contains(#""address":"https://"#) })
        try Data().write(to: URL(filePath: pair.key))
        server.process.send(SIGHUP)
        #expect(waitUntil(limit: .seconds(5)) { server.process.errorText.contains("the old one stays") })
        #expect(server.process.errorText.contains("SALLYPORT_TLS_KEY_FILE"))
        #expect(server.process.isRunning)
        server.process.terminate()
        #expect(try server.process.wait() == 0)
    }
}
