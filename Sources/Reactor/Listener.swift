import CLinux
import Glibc
import Telemetry

/// A listening socket of one loop, sharing its address with those of the other loops (`SO_REUSEPORT`).
///
/// Two processes could share an address in the same way without a word, so `probe` it before the first one.
package final class Listener: EventHandler, @unchecked Sendable {
    // SAFETY: touched on `loop` alone after init, checked at each entry; the descriptors are owned here.
    package let address: SocketAddress
    let source = JobSource.arrival
    private let loop: EventLoop
    private var descriptor: Int32
    private var spare: Int32
    private var token: UInt64?
    private var acceptor: UnsafeContinuation<Void, Never>?
    private var mayAccept = true

    /// May be called from any thread; the listener joins the loop at its first `accept`.
    package init(_ address: SocketAddress, on loop: EventLoop) throws(ReactorError) {
        self.loop = loop
        descriptor = try bound(address, sharesPort: true)
        spare = open("/dev/null", O_RDONLY | O_CLOEXEC)
        guard listen(descriptor, Limits.acceptBacklog) == 0, let real = localAddress(of: descriptor) else {
            let reason = errno
            Glibc.close(descriptor)
            Glibc.close(spare)
            throw .failed(call: "listen", errno: reason)
        }
        self.address = real
    }

    deinit {
        if descriptor >= 0 { Glibc.close(descriptor) }
        if spare >= 0 { Glibc.close(spare) }
    }

    /// Fails with `.addressInUse` when anybody else listens there, which sharing the port would hide.
    package static func probe(_ address: SocketAddress) throws(ReactorError) {
        guard address.port != 0 else { return }
        Glibc.close(try bound(address, sharesPort: false))
    }

    /// The next connection, `nil` once the listener is closed. Many that wait are taken over several turns.
    package func accept() async -> Socket? {
        loop.assertCurrent()
        if token == nil, descriptor >= 0 { join() }
        if loop.hasSpentShare { await loop.passAccepting() }
        while descriptor >= 0 {
            if mayAccept, let socket = acceptNow() { return socket }
            if mayAccept {
                await loop.sleep(for: Limits.acceptPause)
                continue
            }
            await withUnsafeContinuation { continuation in
                if mayAccept || descriptor < 0 { return continuation.resume() }
                acceptor = continuation
            }
        }
        return nil
    }

    /// What the kernel has queued already, without waiting: nobody who was let in is dropped by a drain.
    package func acceptQueued() -> [Socket] {
        loop.assertCurrent()
        var sockets: [Socket] = []
        mayAccept = true
        while descriptor >= 0, let socket = acceptNow() { sockets.append(socket) }
        return sockets
    }

    /// Idempotent.
    package func close() {
        loop.assertCurrent()
        guard descriptor >= 0 else { return }
        if let token { loop.handlers.remove(token) }
        Glibc.close(descriptor)
        descriptor = -1
        resumeAcceptor()
    }

    func fire(_ events: UInt32) {
        mayAccept = true
        resumeAcceptor()
    }

    private func join() {
        let token = loop.handlers.add(self)
        self.token = token
        guard loop.control(1, descriptor, CL_IN | CL_ET, token) else {
            loop.logger.error("listener cannot join its loop", [LogField("errno", errno)])
            return close()
        }
    }

    /// `nil` with `mayAccept` cleared when the queue is empty, `nil` with it set when descriptors have run out.
    private func acceptNow() -> Socket? {
        while true {
            var storage = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let accepted = cl_accept(descriptor, &storage, &length)
            if accepted >= 0 {
                guard let peer = SocketAddress(storage) else {
                    Glibc.close(accepted)
                    continue
                }
                do {
                    return try Socket(accepted, peer: peer, on: loop)
                } catch {
                    loop.logger.throttled(.warning, "connection dropped", [LogField("reason", "\(error)")])
                    continue
                }
            }
            switch errno {
            case EAGAIN:
                mayAccept = false
                return nil
            case EINTR, ECONNABORTED, EPROTO:
                continue
            default:
                loop.logger.throttled(.error, "out of descriptors, accepting pauses", [LogField("errno", errno)])
                shedOne()
                return nil
            }
        }
    }

    /// Gives the spare descriptor up for a moment to close one waiting client, which then knows instead of hanging.
    private func shedOne() {
        guard spare >= 0 else { return }
        Glibc.close(spare)
        let accepted = cl_accept(descriptor, nil, nil)
        if accepted >= 0 { Glibc.close(accepted) }
        spare = open("/dev/null", O_RDONLY | O_CLOEXEC)
    }

    private func resumeAcceptor() {
        let continuation = acceptor
        acceptor = nil
        continuation?.resume()
    }
}

private func bound(_ address: SocketAddress, sharesPort: Bool) throws(ReactorError) -> Int32 {
    let descriptor = cl_stream_socket(address.addressFamily)
    guard descriptor >= 0 else { throw .failed(call: "socket", errno: errno) }
    var one: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, 4)
    if sharesPort { setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &one, 4) }
    guard address.withSockAddr({ bind(descriptor, $0, $1) }) == 0 else {
        let reason = errno
        Glibc.close(descriptor)
        switch reason {
        case EADDRINUSE: throw .addressInUse(address)
        case EADDRNOTAVAIL, EACCES: throw .addressNotAvailable(address)
        default: throw .failed(call: "bind", errno: reason)
        }
    }
    return descriptor
}

private func localAddress(of descriptor: Int32) -> SocketAddress? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let status = withUnsafeMutablePointer(to: &storage) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    return status == 0 ? SocketAddress(storage) : nil
}
