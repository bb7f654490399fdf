import Glibc

/// A server on loopback that answers every connection with the same bytes, whatever it asks, on a thread of its own.
final class CannedServer: Sendable {
    let port: UInt16
    private let listener: Int32

    /// - Parameter closes: `false` leaves the connection open once the bytes are sent.
    init(_ answer: String, closes: Bool = true) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = bind(listener, address, size)
                _ = listen(listener, 16)
                _ = getsockname(listener, address, &size)
            }
        }
        self.listener = listener
        port = UInt16(bigEndian: address.sin_port)
        let work = Work(listener: listener, answer: Array(answer.utf8), closes: closes)
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Work>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, Unmanaged.passRetained(work).toOpaque())
        pthread_detach(thread)
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    private final class Work: Sendable {
        let listener: Int32
        let answer: [UInt8]
        let closes: Bool

        init(listener: Int32, answer: [UInt8], closes: Bool) {
            self.listener = listener
            self.answer = answer
            self.closes = closes
        }

        func run() {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { break }
                var request = [UInt8](repeating: 0, count: 4_096)
                _ = read(connection, &request, request.count)
                var sent = 0
                while sent < answer.count {
                    let count = answer[sent...].withUnsafeBytes {
                        send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                    }
                    if count <= 0 { break }
                    sent += count
                }
                if closes { close(connection) }
            }
            close(listener)
        }
    }
}
