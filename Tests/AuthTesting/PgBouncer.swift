import Foundation

/// A real PgBouncer on a free port of 127.0.0.1 in front of a cluster, ended with the last reference.
package final class PgBouncer: Sendable {
    package enum Mode: String, Sendable, CaseIterable {
        case session, transaction, statement
    }

    package struct NotStarted: Error {
        package let said: String
    }

    package static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: program) }
    private static let program = "/usr/sbin/pgbouncer"

    package let port: UInt16
    private let folder: String
    private let process: SallyportProcess

    /// - Parameter poolSize: connections to the server of each database.
    package init(_ mode: Mode, before cluster: ScratchCluster, poolSize: Int = 20) throws {
        port = try Self.freePort()
        // Below a folder that any account can enter: as root it runs under PostgreSQL's.
        folder = "/var/tmp/sallyport-pgbouncer-\(getpid())-\(String(UInt32.random(in: 0 ... .max), radix: 16))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let settings = """
            [databases]
            * = host=127.0.0.1 port=\(cluster.port) user=postgres

            [pgbouncer]
            listen_addr = 127.0.0.1
            listen_port = \(port)
            unix_socket_dir =
            auth_type = any
            pool_mode = \(mode.rawValue)
            default_pool_size = \(poolSize)

            """
        let path = folder + "/pgbouncer.ini"
        try settings.write(toFile: path, atomically: true, encoding: .utf8)
        let account = ["--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL", "--"]
        process =
            geteuid() == 0
            ? try SallyportProcess(account + [Self.program, path], environment: [:], program: "/usr/bin/setpriv")
            : try SallyportProcess([path], environment: [:], program: Self.program)
        let client = HTTPClient(port: port)
        guard waitUntil(limit: .seconds(20), { (try? client.connect()) != nil }) else {
            throw NotStarted(said: process.errorText)
        }
    }

    deinit {
        process.kill()
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Free a moment ago.
    private static func freePort() throws -> UInt16 {
        let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(probe) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(probe, $0, length) == 0 ? getsockname(probe, $0, &length) : -1
            }
        }
        guard code == 0 else { throw NotStarted(said: "no free port") }
        return UInt16(bigEndian: address.sin_port)
    }

    package func url(of database: ScratchDatabase) -> String {
        "postgresql://postgres@127.0.0.1:\(port)/\(database.name)"
    }
}
