import AuthDomain
import AuthTesting
import Crypto
import Foundation
import Glibc
import HTTP
import HTTPServer
import Primitives
import Reactor
import Telemetry
import Testing

@testable import Signing

/// Answers `/sign` with two signatures, as a refresh has, and everything else from memory.
private struct SigningApplication: HTTPApplication {
    let signer: BatchSigner
    /// Of the loop's thread, from the call for two signatures to their arrival, for all calls.
    let waited = Locked<UInt64>(0)
    private static let document = PreparedResponse(
        status: .ok, fields: ["Content-Type": "text/plain"], content: [UInt8](repeating: 0x61, count: 500))

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        guard request.target.path == "/sign" else { return HTTPResponse(Self.document) }
        let requests = [FixedKeys.signing, FixedKeys.refresh].map { SignatureRequest(key: $0, message: request.body) }
        let start = threadNanoseconds()
        let isSigned = (try? await signer.sign(requests).count) == 2
        waited.withLock { $0 += threadNanoseconds() - start }
        return HTTPResponse(status: isSigned ? .ok : .serviceUnavailable, body: .bytes(Array("signed".utf8)))
    }

    func refuse(_ refusal: HTTPRefusal) -> HTTPResponse { HTTPResponse(status: refusal.status) }
}

/// OpenSSL's, with the time of the thread that it took.
private final class MeasuredEngine: SignatureEngine {
    let lanes = 1
    let nanoseconds = Locked<UInt64>(0)

    func sign(_ batch: [SignatureRequest]) throws(CryptoError) -> [[UInt8]] {
        let start = threadNanoseconds()
        defer { nanoseconds.withLock { $0 += threadNanoseconds() - start } }
        return try OpenSSLEngine().sign(batch)
    }
}

/// What the calling thread has had of a core: a busy machine takes it away without changing it.
private func threadNanoseconds() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

private struct FixedClock: WallClock {
    func now() -> Timestamp { Timestamp(secondsSinceEpoch: 1_800_000_000) }
}

/// What else asks a server that signs.
struct Crowd: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let count: Int
    let request: String
    var answers = 1
    var closes = false

    private static let get = "GET / HTTP/1.1\r\nHost: a.example\r\n"

    static let all = [
        Crowd(testDescription: "256 readers", count: 256, request: get + "\r\n"),
        Crowd(
            testDescription: "64 pipelining readers", count: 64,
            request: String(repeating: get + "\r\n", count: 16), answers: 16),
        Crowd(
            testDescription: "64 senders of tiny chunks", count: 64,
            request: "POST / HTTP/1.1\r\nHost: a.example\r\nTransfer-Encoding: chunked\r\n\r\n"
                + String(repeating: "1\r\na\r\n", count: 40) + "0\r\n\r\n"),
        Crowd(
            testDescription: "64 clients that connect for each request", count: 64,
            request: get + "Connection: close\r\n\r\n", closes: true),
    ]
}

@Suite("Fairness of a loop", .serialized)
struct FairnessTests {
    private static let signersCount = 16
    private static let callsMin = 60

    @Test("signatures of 16 clients wait for one another and no longer for the others", arguments: Crowd.all)
    func signing(beside crowd: Crowd) async throws {
        let engine = MeasuredEngine()
        let application = SigningApplication(signer: BatchSigner(engine: engine, logger: .disabled))
        let loop = try EventLoop(name: "test")
        loop.start()
        defer {
            loop.stop()
            loop.join()
        }
        let configuration = HTTPServerConfiguration(
            address: try #require(SocketAddress("127.0.0.1:0")), clock: FixedClock())
        let server = HTTPServer(loops: [loop], application: application, configuration: configuration)
        let port = try await server.start().port
        let (calls, others) = await onThread { () -> (Int, Int) in
            let clients = ClosedLoopClients(
                port: port,
                kinds: [
                    .init(request: Array("GET /sign HTTP/1.1\r\nHost: a.example\r\n\r\n".utf8)),
                    .init(request: Array(crowd.request.utf8), answers: crowd.answers, closes: crowd.closes),
                ])
            clients.add(crowd.count, of: 1)
            clients.add(Self.signersCount, of: 0)
            clients.run(atMost: 60) { $0.finished[0] >= Self.callsMin }
            return (clients.finished[0], clients.finished[1])
        }
        #expect(calls >= Self.callsMin)
        // A real crowd: it has had more answers than those that sign.
        #expect(others > calls)
        let (waited, signed) = (application.waited.withLock { $0 }, engine.nanoseconds.withLock { $0 })
        // At worst all the others' signatures come first, with as much time for the crowd as for them; and twice that.
        let worst = UInt64(Self.signersCount) * 2 * 2
        #expect(
            waited < signed * worst,
            "each call for two signatures waited for \(Double(waited) / Double(signed)) times as long as it took")
        await server.drain(within: .seconds(1))
    }
}

/// A thread for a body that blocks.
private func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        Thread { continuation.resume(returning: body()) }.start()
    }
}
