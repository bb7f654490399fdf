import HTTP
import HTTPServer
import Primitives
import Reactor
import TLS
import Testing

/// A server that speaks TLS on a free port of loopback, taken down when the body ends.
struct SecureServer: Sendable {
    let port: UInt16
    let certificate: Certificate
    let certificates: TLSCertificates
    let server: HTTPServer

    static func run(
        _ kind: Certificate.Kind = .p256, configure: (inout HTTPServerConfiguration) -> Void = { _ in },
        _ body: (SecureServer) async throws -> Void
    ) async throws {
        let certificate = try Certificate(kind)
        let certificates = try TLSCertificates(
            certificateFile: certificate.certificateFile, keyFile: certificate.keyFile)
        var configuration = HTTPServerConfiguration(
            address: try #require(SocketAddress("127.0.0.1:0")), limits: HTTPLimits(bodyBytesMax: 4_194_304),
            certificates: certificates, clock: FixedClock())
        configure(&configuration)
        let loop = try EventLoop(name: "tls")
        loop.start()
        defer {
            loop.stop()
            loop.join()
        }
        let server = HTTPServer(loops: [loop], application: MirrorApplication(), configuration: configuration)
        let address = try await server.start()
        try await body(
            SecureServer(
                port: address.port, certificate: certificate, certificates: certificates, server: server))
        await server.drain(within: .seconds(1))
    }

    /// `openssl s_client` with these arguments.
    func client(
        _ arguments: [String], input: String = "", linger: Duration = .zero
    ) async -> Command.Outcome {
        let all = ["s_client", "-connect", "127.0.0.1:\(port)", "-servername", "localhost"] + arguments
        return await onThread { Command("openssl", all, input: input, linger: linger).run() }
    }

    /// `curl` that trusts this server's certificate alone.
    func curl(_ path: String, _ arguments: [String] = []) async -> Command.Outcome {
        let all =
            ["-sS", "-m", "8", "--cacert", certificate.certificateFile, "https://localhost:\(port)\(path)"] + arguments
        return await onThread { Command("curl", all).run() }
    }

    /// What the next client is shown: the subject of the certificate.
    func shownName() async -> String? {
        let outcome = await client(["-brief"], input: "")
        let line = outcome.output.split(separator: "\n").first { $0.contains("CN = ") }
        return line.flatMap { $0.split(separator: "=").last }.map { $0.trimmingPrefix(while: { $0 == " " }) }.map {
            String($0)
        }
    }
}

/// Answers with the request's content, and `/` with a word.
private struct MirrorApplication: HTTPApplication {
    func respond(to request: HTTPRequest) async -> HTTPResponse {
        HTTPResponse(
            status: .ok, fields: ["Content-Type": "text/plain"],
            body: .bytes(request.body.isEmpty ? Array("hello".utf8) : request.body))
    }

    func refuse(_ refusal: HTTPRefusal) -> HTTPResponse {
        HTTPResponse(status: refusal.status, body: .bytes(Array("refused".utf8)))
    }
}

private struct FixedClock: WallClock {
    func now() -> Timestamp { Timestamp(secondsSinceEpoch: 1_800_000_000) }
}
