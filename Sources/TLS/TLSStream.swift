import COpenSSL
import Glibc
package import Reactor

/// TLS over a socket of the reactor, as the server. One task reads and writes; deadlines and the close are the socket's.
///
/// At rest it holds no record buffer. A stream that ends without `close_notify` ends like any other: HTTP knows by
/// itself where a request ends (RFC 9112 §8), and a cut one is dropped.
package final class TLSStream {
    // SAFETY: `ssl` is owned here and freed in deinit. Everything happens on the socket's loop, which the socket checks.
    private let ssl: OpaquePointer
    private let socket: Socket
    private var firstByte: UInt8?
    /// What the socket said last: libssl tells its caller no more than "system call".
    private var socketFailure: SocketError?
    /// After a fatal error nothing more may be written, not even the end.
    private var isBroken = false

    private enum Failure: Error {
        case socket(SocketError)
        case rule(String)
    }

    /// `nil` for want of memory.
    package init?(over socket: Socket, _ context: TLSContext) {
        guard let ssl = SSL_new(context.pointer) else {
            ERR_clear_error()
            return nil
        }
        self.ssl = ssl
        self.socket = socket
        guard let bio = SocketBIO.make(for: self) else {
            ERR_clear_error()
            return nil
        }
        SSL_set_bio(ssl, bio, bio)
        SSL_set_accept_state(ssl)
    }

    deinit {
        SSL_free(ssl)
    }

    /// Comes first, once. A signature takes up to half a millisecond: steps wait for a quiet turn of the loop.
    package func handshake() async throws(HandshakeError) {
        do throws(Failure) {
            if try await step(inQuietTurns: true, { SSL_accept(ssl) }) == 0 { throw .socket(.closed) }
        } catch {
            if speaksPlainHTTP { throw .plainRequest }
            switch error {
            case .socket(let error): throw .socket(error)
            case .rule(let reason): throw .refused(reason)
            }
        }
    }

    /// Whether bytes were taken from the socket that `read` has not handed out.
    package var hasPendingBytes: Bool { SSL_has_pending(ssl) == 1 }

    /// Reads what is there, at least one byte.
    ///
    /// - Returns: the number of bytes, 0 once the peer has finished.
    /// - Throws: `.failed(EPROTO)` when the peer breaks the protocol.
    package func read(into buffer: UnsafeMutableRawBufferPointer) async throws(SocketError) -> Int {
        let room = Int32(clamping: buffer.count)
        return try await outerStep { SSL_read(ssl, buffer.baseAddress, room) }
    }

    /// Writes all bytes.
    package func write(_ bytes: [UInt8]) async throws(SocketError) {
        var sent = 0
        while sent < bytes.count {
            sent += try await outerStep {
                bytes.withUnsafeBytes { all in
                    let rest = UnsafeRawBufferPointer(rebasing: all[sent...])
                    return SSL_write(ssl, rest.baseAddress, Int32(clamping: rest.count))
                }
            }
        }
    }

    /// Tells the peer that nothing more comes, as far as the kernel takes it without waiting.
    package func finishWriting() {
        guard !isBroken, SSL_is_init_finished(ssl) == 1, SSL_get_shutdown(ssl) & SSL_SENT_SHUTDOWN == 0 else { return }
        ERR_clear_error()
        SSL_shutdown(ssl)
        ERR_clear_error()
    }

    private func outerStep(_ call: () -> Int32) async throws(SocketError) -> Int {
        do throws(Failure) {
            return try await step(inQuietTurns: false, call)
        } catch {
            guard case .socket(let error) = error else { throw .failed(EPROTO) }
            throw error
        }
    }

    /// Calls libssl until it has done something. 0 is the peer's `close_notify`.
    private func step(inQuietTurns isQuiet: Bool, _ call: () -> Int32) async throws(Failure) -> Int {
        while true {
            if isQuiet { await socket.loop.quietTurn(for: .handshake) }
            // The queue is the thread's: what another connection has left there would pass for this one's failure.
            ERR_clear_error()
            let count = call()
            if count > 0 { return Int(count) }
            switch SSL_get_error(ssl, count) {
            case SSL_ERROR_WANT_READ:
                try await wait { () async throws(SocketError) in
                    try await socket.waitUntilReadable()
                }
            case SSL_ERROR_WANT_WRITE:
                try await wait { () async throws(SocketError) in
                    try await socket.waitUntilWritable()
                }
            case SSL_ERROR_ZERO_RETURN: return 0
            default: throw takeFailure()
            }
        }
    }

    private func wait(_ body: () async throws(SocketError) -> Void) async throws(Failure) {
        do throws(SocketError) { try await body() } catch { throw .socket(error) }
    }

    private func takeFailure() -> Failure {
        isBroken = true
        let reason = ERR_reason_error_string(ERR_peek_error()).map { String(cString: $0) }
        ERR_clear_error()
        if let socketFailure { return .socket(socketFailure) }
        return .rule(reason ?? "unknown")
    }
}

// MARK: What libssl calls

extension TLSStream {
    /// A handshake record begins with 22, the oldest kind with 128: a letter begins a request line.
    private var speaksPlainHTTP: Bool {
        guard let firstByte, SSL_is_init_finished(ssl) == 0 else { return false }
        return (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(firstByte)
    }

    func receive(_ buffer: UnsafeMutableRawBufferPointer) -> Socket.Progress {
        let progress = socket.readNow(into: buffer)
        if case .done(let count) = progress, count > 0, firstByte == nil { firstByte = buffer[0] }
        if case .failed(let error) = progress { socketFailure = error }
        return progress
    }

    func send(_ bytes: UnsafeRawBufferPointer) -> Socket.Progress {
        // libssl's alert would stand before the answer in plain text.
        if speaksPlainHTTP { return .done(bytes.count) }
        let progress = socket.writeNow(bytes)
        if case .failed(let error) = progress { socketFailure = error }
        return progress
    }
}
