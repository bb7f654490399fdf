import Foundation
import Testing

@Suite("TLS handshake")
struct HandshakeTests {
    private static let get = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    /// Lets the client try what its own policy would stop.
    private static let anything = ["-cipher", "ALL:@SECLEVEL=0"]

    @Test("TLS 1.2 and 1.3 are spoken, with ECDHE and AEAD", arguments: [("1_2", "TLSv1.2"), ("1_3", "TLSv1.3")])
    func spoken(version: String, name: String) async throws {
        try await SecureServer.run { server in
            let outcome = await server.client(["-tls\(version)", "-ign_eof"], input: Self.get)
            #expect(outcome.output.contains("New, \(name), Cipher is"))
            #expect(outcome.output.contains("GCM") || outcome.output.contains("CHACHA20"))
            #expect(outcome.output.contains("HTTP/1.1 200 OK"))
            #expect(outcome.output.contains("Compression: NONE"))
            #expect(name == "TLSv1.3" || outcome.output.contains("ECDHE-ECDSA"))
        }
    }

    @Test("TLS 1.0 and 1.1 are refused by a protocol_version alert", arguments: ["1", "1_1"])
    func refusedVersions(version: String) async throws {
        try await SecureServer.run { server in
            let outcome = await server.client(["-tls\(version)"] + Self.anything)
            #expect(outcome.output.contains("Cipher is (NONE)"))
            #expect(outcome.output.contains("alert protocol version"))
        }
    }

    @Test(
        "cipher suites without forward secrecy or AEAD are refused",
        arguments: [
            "AES128-GCM-SHA256", "ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA384", "DHE-RSA-AES128-GCM-SHA256",
        ]
    )
    func refusedCiphers(cipher: String) async throws {
        try await SecureServer.run(.rsa2048) { server in
            let outcome = await server.client(["-tls1_2", "-cipher", cipher + ":@SECLEVEL=0"])
            #expect(outcome.output.contains("Cipher is (NONE)"))
            #expect(outcome.output.contains("handshake failure"))
        }
    }

    @Test("a client cannot renegotiate")
    func renegotiation() async throws {
        try await SecureServer.run { server in
            // "R" at the start of a line asks the client to begin a new handshake.
            let outcome = await server.client(["-tls1_2"], input: "R\n", linger: .seconds(1))
            #expect(outcome.output.contains("RENEGOTIATING"))
            #expect(outcome.output.contains("no renegotiation"))
        }
    }

    @Test("http/1.1 is chosen by ALPN, a client without ALPN is served, and one without http/1.1 is refused")
    func applicationProtocol() async throws {
        try await SecureServer.run { server in
            let both = await server.client(["-alpn", "h2,http/1.1"])
            #expect(both.output.contains("ALPN protocol: http/1.1"))
            let none = await server.client(["-ign_eof"], input: Self.get)
            #expect(none.output.contains("No ALPN negotiated"))
            #expect(none.output.contains("HTTP/1.1 200 OK"))
            let other = await server.client(["-alpn", "h2"])
            #expect(other.output.contains("alert no application protocol"))
        }
    }

    @Test("a session is resumed by its ticket", arguments: ["1_2", "1_3"])
    func resumption(version: String) async throws {
        try await SecureServer.run { server in
            let file = server.certificate.folder + "/session.pem"
            let first = await server.client(
                ["-tls\(version)", "-sess_out", file, "-ign_eof"], input: Self.get)
            #expect(first.output.contains("New, TLS"))
            let second = await server.client(["-tls\(version)", "-sess_in", file, "-ign_eof"], input: Self.get)
            #expect(second.output.contains("Reused, TLS"))
            #expect(second.output.contains("HTTP/1.1 200 OK"))
        }
    }

    @Test("early data is not taken")
    func earlyData() async throws {
        try await SecureServer.run { server in
            let file = server.certificate.folder + "/session.pem"
            _ = await server.client(["-tls1_3", "-sess_out", file, "-ign_eof"], input: Self.get)
            let text = await onThread {
                Command("openssl", ["sess_id", "-in", file, "-noout", "-text"]).run().output
            }
            #expect(text.contains("TLSv1.3"))
            #expect(text.contains("Max Early Data: 0"))
        }
    }

    @Test("a certificate with an RSA key is served as well")
    func rsa() async throws {
        try await SecureServer.run(.rsa2048) { server in
            let outcome = await server.client(["-tls1_2", "-ign_eof"], input: Self.get)
            #expect(outcome.output.contains("Cipher is ECDHE-RSA-AES128-GCM-SHA256"))
            #expect(outcome.output.contains("HTTP/1.1 200 OK"))
        }
    }
}
