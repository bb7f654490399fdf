import Glibc
import Primitives

/// A blocking client socket, as a stranger's program has one.
///
/// Receiving gives up after ten minutes: all tests run at once, and one may wait for its turn for as long as the others
/// need.
final class BlockingClient {
    private let descriptor: Int32
    /// The server has closed its side, or reset the connection.
    private(set) var hasEnded = false
    private(set) var received: [UInt8] = []

    init(port: UInt16, receiveBufferBytes: Int32? = nil) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        if var receiveBufferBytes { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBufferBytes, 4) }
        limitReceiving(milliseconds: 600_000)
        let isConnected = withLoopback(port) { Glibc.connect(descriptor, $0, $1) == 0 }
        if !isConnected { hasEnded = true }
    }

    deinit {
        Glibc.close(descriptor)
    }

    func limitReceiving(milliseconds: Int) {
        var limit = timeval(tv_sec: milliseconds / 1_000, tv_usec: milliseconds % 1_000 * 1_000)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    /// - Returns: whether the kernel took all of it.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { all in
                let rest = UnsafeRawBufferPointer(rebasing: all[sent...])
                return Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(latin1(text)) }

    func finishWriting() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// One `recv`.
    ///
    /// - Returns: `false` at the end, or when nothing came in time.
    @discardableResult
    func receiveSome() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else {
            if count == 0 || errno != EAGAIN { hasEnded = true }
            return false
        }
        received += buffer[..<count]
        return true
    }

    /// Until the server closes.
    ///
    /// - Returns: whether it did in time.
    @discardableResult
    func receiveToEnd() -> Bool {
        while receiveSome() {}
        return hasEnded
    }

    /// Lets go of what was received.
    func forget() {
        received = []
    }

    /// Until there are so many final answers. `nil` when they did not come.
    @discardableResult
    func receive(_ count: Int, firstIsHead: Bool = false) -> [WireResponse]? {
        while true {
            let responses = WireResponse.parse(received, firstIsHead: firstIsHead).filter { $0.status >= 200 }
            if responses.count >= count { return responses }
            guard receiveSome() else { return nil }
        }
    }
}

private func withLoopback<Result>(_ port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
}

/// Runs a blocking body on a thread of its own, so that no pool thread is held.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withUnsafeContinuation { continuation in
        let start: @Sendable () -> Void = { continuation.resume(returning: body()) }
        let context = Unmanaged.passRetained(Locked(start)).toOpaque()
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let start = Unmanaged<Locked<@Sendable () -> Void>>.fromOpaque(context).takeRetainedValue()
                start.withLock { $0 }()
                return nil
            }, context)
        pthread_detach(thread)
    }
}

extension BlockingClient {
    /// On a thread only.
    static func pause(milliseconds: UInt32) -> Bool {
        usleep(milliseconds * 1_000) == 0
    }
}
