import Foundation
import HTTPServer
import TLS
import Testing

@Suite("Serving over TLS")
struct ServingTests {
    @Test("every answer over TLS asks for TLS for a year, refusals too, and once")
    func strictTransport() async throws {
        try await SecureServer.run { server in
            let good = await server.curl("/", ["-i"])
            #expect(good.output.contains("HTTP/1.1 200 OK"))
            let bad = await server.curl("/", ["-i", "-H", "Transfer-Encoding: gzip, chunked"])
            #expect(!bad.output.contains("HTTP/1.1 200 OK"))
            #expect(bad.output.contains("HTTP/1.1 "))
            for outcome in [good, bad] {
                let fields = outcome.output.split(whereSeparator: \.isNewline).filter {
                    $0.hasPrefix("Strict-Transport-Security:")
                }
                #expect(fields == ["Strict-Transport-Security: max-age=31536000"])
            }
        }
    }

    @Test(
        "a request without TLS gets a plain 400 and no promise of TLS",
        arguments: [
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "DELETE /a HTTP/1.1\r\nHost: a\r\n\r\n", "PATCH / HTTP/1.0\r\n\r\n",
        ])
    func plainRequest(sent: String) async throws {
        try await SecureServer.run { server in
            let answer = await onThread { [port = server.port] in PlainClient(port: port).exchange(Array(sent.utf8)) }
            let text = String(decoding: try #require(answer), as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 400 Bad Request\r\n"))
            #expect(text.contains("Connection: close\r\n"))
            #expect(!text.contains("Strict-Transport-Security"))
            #expect(text.hasSuffix("refused"))
        }
    }

    @Test("bytes that are neither TLS nor HTTP end the connection, and the next client is served")
    func rubbish() async throws {
        try await SecureServer.run { server in
            for sent in [
                [0x00, 0xff, 0x0d, 0x0a], [0x16, 0x03, 0x01, 0xff, 0xff, 0x02], [UInt8](repeating: 0x80, count: 99),
            ] {
                let answer = await onThread { [port = server.port] in
                    PlainClient(port: port).exchange(sent + [UInt8](repeating: 7, count: 70_000))
                }
                let text = String(decoding: try #require(answer), as: UTF8.self)
                #expect(!text.contains("HTTP/"))
            }
            #expect(await server.curl("/").output == "hello")
        }
    }

    @Test(
        "a handshake that is too slow is ended at the header deadline",
        arguments: [[], [0x16], [0x16, 0x03, 0x01, 0x02, 0x00, 0x01]] as [[UInt8]])
    func slowHandshake(sent: [UInt8]) async throws {
        try await SecureServer.run(configure: { $0.headerDeadline = .milliseconds(300) }) { server in
            let start = ContinuousClock.now
            let answer = await onThread { [port = server.port] in PlainClient(port: port).exchange(sent) }
            // Within the client's five seconds.
            #expect(answer == [])
            #expect(ContinuousClock.now - start >= .milliseconds(300))
        }
    }

    @Test("the header deadline covers handshake and first head together")
    func slowHead() async throws {
        try await SecureServer.run(configure: { $0.headerDeadline = .milliseconds(400) }) { server in
            let outcome = await server.client(["-ign_eof", "-quiet"], input: "GET / HTTP/1.1\r\n", linger: .seconds(1))
            #expect(!outcome.output.contains("HTTP/1.1"))
            // 124: the client was ended, since the server had not.
            #expect(outcome.status != 124)
        }
    }

    @Test("bodies of megabytes go both ways whole", arguments: ["1.2", "1.3"])
    func bigBodies(version: String) async throws {
        try await SecureServer.run { server in
            let folder = server.certificate.folder
            var bytes = Data(count: 3_000_000)
            for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: index &* 31 ^ index >> 9) }
            try bytes.write(to: URL(filePath: folder + "/sent"))
            let outcome = await server.curl(
                "/", ["--tls-max", version, "--data-binary", "@\(folder)/sent", "-o", folder + "/got"])
            #expect(outcome.status == 0, "\(outcome.output)")
            let got = try Data(contentsOf: URL(filePath: folder + "/got"))
            #expect(got == bytes)
        }
    }

    @Test("requests in one record and over one connection are answered in order, with an end that is announced")
    func keepAlive() async throws {
        try await SecureServer.run { server in
            let two = "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
            let outcome = await server.client(["-ign_eof"], input: two)
            #expect(outcome.output.components(separatedBy: "HTTP/1.1 200 OK").count == 3)
            // s_client complains when the stream is cut without close_notify.
            #expect(!outcome.output.contains("unexpected eof"))
            #expect(outcome.status == 0)
        }
    }

    @Test("a new certificate is shown to the next client, while open connections go on, also over a bad pair")
    func reload() async throws {
        try await SecureServer.run { server in
            #expect(await server.shownName() == "localhost")
            let files = server.certificate
            async let held = onThread { [port = server.port] in HeldConnection(port: port).run(requests: 60) }
            try files.make(name: "second")
            try server.certificates.reload()
            #expect(await server.shownName() == "second")
            try files.write("nothing", to: files.certificateFile)
            #expect(throws: (any Error).self) { try server.certificates.reload() }
            #expect(await server.shownName() == "second")
            #expect(await held == 60)
        }
    }

    @Test("a ticket of the time before a reload leads to a full handshake with the new certificate")
    func ticketAfterReload() async throws {
        try await SecureServer.run { server in
            let get = "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            let file = server.certificate.folder + "/session.pem"
            _ = await server.client(["-sess_out", file, "-ign_eof"], input: get)
            try server.certificate.make(name: "second")
            try server.certificates.reload()
            let outcome = await server.client(["-sess_in", file, "-ign_eof"], input: get)
            #expect(outcome.output.contains("New, TLS"))
            #expect(outcome.output.contains("CN = second"))
            #expect(outcome.output.contains("HTTP/1.1 200 OK"))
        }
    }

    @Test("over the limit of connections a client is told so over TLS")
    func overloaded() async throws {
        try await SecureServer.run(configure: { $0.connectionsMax = 0 }) { server in
            let outcome = await server.curl("/", ["-i"])
            #expect(outcome.output.contains("HTTP/1.1 503"))
        }
    }
}

/// One `openssl s_client` that sends requests at a steady pace over one connection.
private struct HeldConnection {
    let port: UInt16

    /// - Returns: how many were answered.
    func run(requests: Int) -> Int {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/timeout")
        process.arguments = ["10", "openssl", "s_client", "-connect", "127.0.0.1:\(port)", "-quiet"]
        let (input, output) = (Pipe(), Pipe())
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        do { try process.run() } catch { return 0 }
        for index in 1...requests {
            let end = index == requests ? "Connection: close\r\n" : ""
            input.fileHandleForWriting.write(Data("GET / HTTP/1.1\r\nHost: a\r\n\(end)\r\n".utf8))
            Thread.sleep(forTimeInterval: 0.02)
        }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.components(separatedBy: "HTTP/1.1 200 OK").count - 1
    }
}
