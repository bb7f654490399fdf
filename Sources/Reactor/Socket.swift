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
    let source = JobSource.event

    private var descriptor: Int32
    private var token: UInt64 = 0
    private var mayRead = true
    private var mayWrite = true
    private var peerHasFinished = false
    private var failure: SocketError?
    private var reader: UnsafeContinuation<Void, Never>?
    private var writer: UnsafeContinuation<Void, Never>?
    /// Called instead of a reader's resumption, once.
    private var onReadable: (() -> Void)?
    private var deadline: MonotonicInstant?
    /// Until then the reader waits for its first byte.
    private var patience: MonotonicInstant?
    /// When the loop looks at both next.
    private var nextLook: DeadlineWheel.Tick?

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

    // MARK: At rest

    /// Waits for something to read, an end or the deadline, but not much longer than `limit`.
    ///
    /// - Returns: `false` when nothing of it came within the limit.
    package func isReadable(within limit: Duration) async -> Bool {
        loop.assertCurrent()
        if mayRead || failure != nil { return true }
        patience = .now() + limit
        look(at: patience)
        await withUnsafeContinuation { parkReader($0) }
        patience = nil
        return mayRead || failure != nil
    }

    /// Calls `action` on the loop once there is something to read, an end or the deadline: for whoever waits long
    /// enough to make a waiting task too dear.
    package func whenReadable(_ action: @escaping () -> Void) {
        loop.assertCurrent()
        if mayRead || failure != nil { return action() }
        onReadable = action
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

    /// `nil` clears it. Strikes up to `Limits.deadlineTickNanoseconds` late.
    package func setDeadline(after limit: Duration?) {
        loop.assertCurrent()
        deadline = limit.map { .now() + $0 }
        look(at: deadline)
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
            resumeReader()
        }
        if events & (CL_OUT | CL_HUP | CL_ERR) != 0 {
            mayWrite = true
            resume(&writer)
        }
    }

    /// Has the loop look at the latest at `instant`. A look that comes earlier is not called off, it asks for the next.
    private func look(at instant: MonotonicInstant?) {
        guard let instant else { return }
        if let nextLook, nextLook <= DeadlineWheel.tick(of: instant) { return }
        nextLook = loop.deadlines.add(token, at: instant)
        loop.keepDeadlineTick()
    }

    /// The look that was asked for.
    func checkDeadline(at tick: DeadlineWheel.Tick, _ now: MonotonicInstant) {
        // One that an earlier one has taken the place of.
        guard tick == nextLook else { return }
        nextLook = nil
        if let deadline, deadline <= now {
            self.deadline = nil
            return end(with: .timedOut)
        }
        if let patience, patience <= now {
            self.patience = nil
            resumeReader()
        }
        look(at: [deadline, patience].compactMap(\.self).min())
    }

    private func end(with error: SocketError) {
        if failure == nil { failure = error }
        resumeReader()
        resume(&writer)
    }

    private func fail(_ reason: Int32) -> SocketError {
        let error: SocketError = reason == ECONNRESET || reason == EPIPE ? .reset : .failed(reason)
        if failure == nil { failure = error }
        return error
    }

    private func resumeReader() {
        resume(&reader)
        let action = onReadable
        onReadable = nil
        action?()
    }

    private func resume(_ waiter: inout UnsafeContinuation<Void, Never>?) {
        let continuation = waiter
        waiter = nil
        continuation?.resume()
    }
}

extension EventLoop {
    /// Looks at deadlines once a tick, as long as any is ahead.
    fileprivate func keepDeadlineTick() {
        guard !hasDeadlineTick else { return }
        hasDeadlineTick = true
        let timer = LoopTimer(at: DeadlineWheel.nextTick(after: .now())) { [self] in
            hasDeadlineTick = false
            let now = MonotonicInstant.now()
            for look in deadlines.takeDue(at: now) {
                (handlers.handler(for: look.token) as? Socket)?.checkDeadline(at: look.tick, now)
            }
            if !deadlines.isEmpty { keepDeadlineTick() }
        }
        timers.push(timer)
    }
}
