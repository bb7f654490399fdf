import COpenSSL
import Glibc
import Reactor

/// What libssl reads from and writes to: the socket of a `TLSStream`, without a copy and without waiting.
///
/// libssl's own socket BIO would read behind the reactor's back, which is edge-triggered and has to see EAGAIN itself.
enum SocketBIO {
    // SAFETY: made once under the runtime's lock and never freed; constant afterwards.
    nonisolated(unsafe) private static let method = makeMethod()

    /// - Returns: a BIO with one reference, that does not retain the stream. `nil` for want of memory.
    static func make(for stream: TLSStream) -> OpaquePointer? {
        guard let method, let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(stream).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    private static func makeMethod() -> OpaquePointer? {
        let kind = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK
        guard let method = BIO_meth_new(kind, "socket of the reactor") else { return nil }
        BIO_meth_set_read(method) { bio, bytes, count in
            guard let bio, let stream = SocketBIO.stream(of: bio), let bytes, count > 0 else { return -1 }
            sallyport_bio_clear_retry(bio)
            switch stream.receive(UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))) {
            case .done(let count): return Int32(count)
            case .mustWait: sallyport_bio_set_retry_read(bio)
            case .failed: break
            }
            return -1
        }
        BIO_meth_set_write(method) { bio, bytes, count in
            guard let bio, let stream = SocketBIO.stream(of: bio), let bytes, count > 0 else { return -1 }
            sallyport_bio_clear_retry(bio)
            switch stream.send(UnsafeRawBufferPointer(start: bytes, count: Int(count))) {
            case .done(let count): return Int32(count)
            case .mustWait: sallyport_bio_set_retry_write(bio)
            case .failed: break
            }
            return -1
        }
        BIO_meth_set_ctrl(method) { _, command, _, _ in
            // Nothing is held back, so a flush has always succeeded.
            command == BIO_CTRL_FLUSH ? 1 : 0
        }
        return method
    }

    private static func stream(of bio: OpaquePointer) -> TLSStream? {
        // SAFETY: a stream owns the SSL that owns its BIO, and calls libssl from its own methods alone: it is alive.
        BIO_get_data(bio).map { Unmanaged<TLSStream>.fromOpaque($0).takeUnretainedValue() }
    }
}
