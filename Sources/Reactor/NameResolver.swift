import CLinux
import Glibc

/// Looks host names up on a thread of its own: `getaddrinfo` blocks, and libpq would call it in place.
package enum NameResolver {
    /// Numeric addresses of a host in the resolver's order; empty when it has none or the look-up failed.
    package static func addresses(of host: String, on loop: EventLoop) async -> [String] {
        await withUnsafeContinuation { continuation in
            thread.look(up: host) { addresses in
                loop.post { continuation.resume(returning: addresses) }
            }
        }
    }

    private static let thread = ResolverThread()
}

/// One detached thread with a queue; look-ups of several loops wait for one another.
private final class ResolverThread: @unchecked Sendable {
    // SAFETY: `queue` is touched with `mutex` held; the object is a static and lives as long as the process.
    private struct Request {
        let host: String
        let answer: @Sendable ([String]) -> Void
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let arrived = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var queue: [Request] = []
    private let worker = LoopThread()

    init() {
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        arrived.initialize(to: pthread_cond_t())
        pthread_cond_init(arrived, nil)
        worker.start { [unowned self] in run() }
    }

    func look(up host: String, answer: @escaping @Sendable ([String]) -> Void) {
        pthread_mutex_lock(mutex)
        queue.append(Request(host: host, answer: answer))
        pthread_cond_signal(arrived)
        pthread_mutex_unlock(mutex)
    }

    private func run() {
        while true {
            pthread_mutex_lock(mutex)
            while queue.isEmpty { pthread_cond_wait(arrived, mutex) }
            let request = queue.removeFirst()
            pthread_mutex_unlock(mutex)
            request.answer(lookUp(request.host))
        }
    }

    private func lookUp(_ host: String) -> [String] {
        var hints = addrinfo()
        hints.ai_socktype = CL_STREAM
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        var addresses: [String] = []
        var next = first
        while let entry = next {
            if let address = entry.pointee.ai_addr {
                var storage = sockaddr_storage()
                withUnsafeMutableBytes(of: &storage) { bytes in
                    bytes.copyMemory(from: UnsafeRawBufferPointer(start: address, count: Int(entry.pointee.ai_addrlen)))
                }
                if let found = SocketAddress(storage)?.host, !addresses.contains(found) { addresses.append(found) }
            }
            next = entry.pointee.ai_next
        }
        return addresses
    }
}
