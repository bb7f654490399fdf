import CLinux
import Glibc

/// A connected, non-blocking stream socket of one loop. Edge-triggered; at most one reader and one writer wait at a time.
///
/// A deadline covers whatever is read or written until it is set anew: when it strikes, pending and later calls throw
/// `.timedOut`. That replaces cancellation, which would cost a handler on every read.
package final class Socket: EventHandler, @unchecked Sendable {
    // SAFETY: all state is touched on `loop` alone, checked at each entry. The descriptor is owned here, closed once.
    package let peer: SocketAddress
    package let loop: EventLoop

    private var descriptor: Int32
    private var token: UInt64 = 0
    private var mayRead = true
    private var mayWrite = true
    private var peerHasFinished = false
    private var failure: SocketError?
    private var reader: UnsafeContinuation<Void, Never>?
    private var writer: UnsafeContinuation<Void, Never>?
    private var deadline: MonotonicInstant?

    /// Takes the descriptor over, also when it throws.
    init(_ descriptor: Int32, peer: SocketAddress, on loop: EventLoop) throws(ReactorError) {
        self.descriptor = descriptor
        self.peer = peer
        self.loop = loop
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        token = loop.handlers.add(self)
        guard loop.control(1, descriptor, CL_IN | CL_OUT | CL_RDHUP | CL_ET, token) else {
            let reason = errno
            loop.handlers.remove(token)
            Glibc.close(descriptor)
            self.descriptor = -1
            throw .failed(call: "epoll_ctl", errno: reason)
        }
    }

    /// Reads what is there, at least one byte.
    ///
    /// - Returns: the number of bytes, 0 once the peer has finished.
    package func read(into buffer: UnsafeMutableRawBufferPointer) async throws(SocketError) -> Int {
        while true {
            switch readNow(into: buffer) {
            case .done(let count): return count
            case .failed(let error): throw error
            case .mustWait: await withUnsafeContinuation { parkReader($0) }
            }
        }
    }

    /// Writes all bytes.
    package func write(_ bytes: [UInt8]) async throws(SocketError) {
        loop.assertCurrent()
        var sent = 0
        while sent < bytes.count {
            let progress = bytes.withUnsafeBytes { writeNow(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
            switch progress {
            case .done(let count): sent += count
            case .failed(let error): throw error
            case .mustWait: await withUnsafeContinuation { parkWriter($0) }
            }
        }
    }

    // MARK: For a layer that moves the bytes itself

    /// What a step came to that does not wait.
    package enum Progress: Equatable, Sendable {
        /// So many bytes; 0 read is the peer's end.
        case done(Int)
        case mustWait
        case failed(SocketError)
    }

    /// Reads what is there without waiting for it.
    package func readNow(into buffer: UnsafeMutableRawBufferPointer) -> Progress {
        loop.assertCurrent()
        if let failure { return .failed(failure) }
        while mayRead {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count >= 0 {
                // A short read has drained the socket: epoll will tell of more, but not of an end that it told already.
                if count < buffer.count, !peerHasFinished { mayRead = false }
                return .done(count)
            }
            if errno == EINTR { continue }
            guard errno == EAGAIN else { return .failed(fail(errno)) }
            mayRead = false
        }
        return .mustWait
    }

    /// Writes what the kernel takes, at least one byte, without waiting until it does.
    package func writeNow(_ bytes: UnsafeRawBufferPointer) -> Progress {
        loop.assertCurrent()
        if let failure { return .failed(failure) }
        while mayWrite {
            let count = send(descriptor, bytes.baseAddress, bytes.count, CL_NOSIGNAL)
            if count >= 0 { return .done(count) }
            if errno == EINTR { continue }
            guard errno == EAGAIN else { return .failed(fail(errno)) }
            mayWrite = false
        }
        return .mustWait
    }

    /// Returns when `readNow` has something to say. Fails with the deadline and the close.
    package func waitUntilReadable() async throws(SocketError) {
        loop.assertCurrent()
        await withUnsafeContinuation { parkReader($0) }
        if let failure { throw failure }
    }

    /// Returns when `writeNow` has something to say. Fails with the deadline and the close.
    package func waitUntilWritable() async throws(SocketError) {
        loop.assertCurrent()
        await withUnsafeContinuation { parkWriter($0) }
        if let failure { throw failure }
    }

    private func parkReader(_ continuation: UnsafeContinuation<Void, Never>) {
        // Checked again: nothing may have fired between the caller's test and here.
        if mayRead || failure != nil { return continuation.resume() }
        reader = continuation
    }

    private func parkWriter(_ continuation: UnsafeContinuation<Void, Never>) {
        if mayWrite || failure != nil { return continuation.resume() }
        writer = continuation
    }

    /// `nil` clears it. Strikes up to `Limits.deadlineTick` late.
    package func setDeadline(after limit: Duration?) {
        loop.assertCurrent()
        deadline = limit.map { .now() + $0 }
        if deadline != nil { loop.keepDeadlineTick() }
    }

    /// Tells the peer that nothing more comes; reading goes on.
    package func finishWriting() {
        loop.assertCurrent()
        guard descriptor >= 0 else { return }
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Idempotent. Whoever still reads or writes gets `.closed`.
    package func close() {
        loop.assertCurrent()
        guard descriptor >= 0 else { return }
        loop.handlers.remove(token)
        Glibc.close(descriptor)
        descriptor = -1
        deadline = nil
        end(with: .closed)
    }

    func fire(_ events: UInt32) {
        if events & (CL_RDHUP | CL_HUP | CL_ERR) != 0 { peerHasFinished = true }
        if events & (CL_IN | CL_RDHUP | CL_HUP | CL_ERR) != 0 {
            mayRead = true
            resume(&reader)
        }
        if events & (CL_OUT | CL_HUP | CL_ERR) != 0 {
            mayWrite = true
            resume(&writer)
        }
    }

    /// Says whether a deadline is still ahead.
    func checkDeadline(at now: MonotonicInstant) -> Bool {
        guard let deadline else { return false }
        guard deadline <= now else { return true }
        self.deadline = nil
        end(with: .timedOut)
        return false
    }

    private func end(with error: SocketError) {
        if failure == nil { failure = error }
        resume(&reader)
        resume(&writer)
    }

    private func fail(_ reason: Int32) -> SocketError {
        let error: SocketError = reason == ECONNRESET || reason == EPIPE ? .reset : .failed(reason)
        if failure == nil { failure = error }
        return error
    }

    private func resume(_ waiter: inout UnsafeContinuation<Void, Never>?) {
        let continuation = waiter
        waiter = nil
        continuation?.resume()
    }
}

extension EventLoop {
    /// Looks at all sockets' deadlines once a tick, as long as one of them has any.
    ///
    /// One sweep over some thousand sockets costs less than a timer set and cancelled for each request.
    func keepDeadlineTick() {
        guard !hasDeadlineTick else { return }
        hasDeadlineTick = true
        _ = schedule(after: Limits.deadlineTick) { [self] in
            hasDeadlineTick = false
            let now = MonotonicInstant.now()
            var anyAhead = false
            handlers.forEach { handler in
                if let socket = handler as? Socket, socket.checkDeadline(at: now) { anyAhead = true }
            }
            if anyAhead { keepDeadlineTick() }
        }
    }
}
