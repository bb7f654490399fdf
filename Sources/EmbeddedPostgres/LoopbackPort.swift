import Glibc

/// A port of 127.0.0.1, kept for its owner while nobody listens on it: a cluster that is stopped for a moment comes back
/// on the port that clients know.
///
/// What is held is a name in the abstract socket namespace, which other processes that reserve in the same way see, and
/// which the kernel drops with the process.
struct LoopbackPort: ~Copyable {
    let number: UInt16
    private let reservation: Int32

    /// A free port below the ephemeral range.
    ///
    /// - Throws: `.didNotStart` when none is found.
    static func reserve() throws(EmbeddedPostgresError) -> LoopbackPort {
        for _ in 0..<EmbeddedPostgresLimits.portProbes {
            let number = UInt16.random(in: EmbeddedPostgresLimits.ports)
            guard let port = LoopbackPort(number) else { continue }
            if isFree(number) { return port }
        }
        throw .didNotStart(log: "no free port on 127.0.0.1")
    }

    /// `nil` where another owner has it.
    private init?(_ number: UInt16) {
        let reservation = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        guard reservation >= 0 else { return nil }
        _ = fcntl(reservation, F_SETFD, FD_CLOEXEC)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let name = Array("\0sallyport-port-\(number)".utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(MemoryLayout<sa_family_t>.size + name.count)
        let isOurs = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(reservation, $0, length) == 0 }
        }
        guard isOurs else {
            close(reservation)
            return nil
        }
        self.number = number
        self.reservation = reservation
    }

    deinit { close(reservation) }

    private static func isFree(_ port: UInt16) -> Bool {
        let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard probe >= 0 else { return false }
        defer { close(probe) }
        var reuse: Int32 = 1
        setsockopt(probe, SOL_SOCKET, SO_REUSEADDR, &reuse, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(probe, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
