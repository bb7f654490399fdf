import Foundation
import Postgres
import Primitives

/// A private Postgres cluster below `/var/tmp`, on a port of its own. It ends and its files go when this process ends,
/// however it ends.
final class ScratchServer: @unchecked Sendable {
    // SAFETY: everything is constant after `init`; `guardian` is kept for its pipe only.
    static let shared: ScratchServer = {
        do {
            return try ScratchServer()
        } catch {
            preconditionFailure("no scratch Postgres: \(error)")
        }
    }()

    struct Failure: Error { let output: String }

    enum StopMode: String { case fast, immediate }

    let port: UInt16
    private let folder: String
    private let binaries: String
    private let settings: String
    private let guardian: Process

    init(settings: String = "") throws {
        let versions = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")
        binaries = "/usr/lib/postgresql/\(versions.compactMap(Int.init).max() ?? 15)/bin"
        self.settings = settings
        port = try Self.freePort()
        folder = "/var/tmp/sallyport-test-\(getpid())-\(port)"
        guardian = Process()

        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try Self.run(
            "/bin/sh", ["-c", "chmod 700 \(folder) && if [ $(id -u) = 0 ]; then chown postgres \(folder); fi"])
        try startGuardian()
        try asPostgres(
            "initdb",
            ["-D", "\(folder)/data", "-U", "postgres", "-A", "trust", "--no-sync", "--locale=C", "-E", "UTF8"])
        try start()
    }

    func url(_ database: String = "postgres") -> Secret<String> {
        Secret("postgres://postgres@127.0.0.1:\(port)/\(database)")
    }

    func socketURL(_ database: String = "postgres") -> Secret<String> {
        Secret("postgresql:///\(database)?host=\(folder)&port=\(port)&user=postgres")
    }

    func start() throws {
        let server = Process()
        server.executableURL = URL(fileURLWithPath: "/bin/sh")
        server.arguments = [
            "-c",
            """
            cd /; exec \(Self.postgresUser) \(binaries)/postgres -D \(folder)/data -p \(port) -k \(folder) \
                -c listen_addresses=127.0.0.1 -c fsync=off \(settings) >>\(folder)/log 2>&1
            """,
        ]
        server.standardInput = FileHandle.nullDevice
        try server.run()
        try Self.run(
            "/bin/sh",
            [
                "-c",
                """
                for try in $(seq 300); do
                    \(binaries)/pg_isready -q -h 127.0.0.1 -p \(port) && exit 0
                    sleep 0.05
                done
                cat \(folder)/log; exit 1
                """,
            ])
    }

    func stop(_ mode: StopMode = .fast) throws {
        try asPostgres("pg_ctl", ["stop", "-w", "-m", mode.rawValue, "-D", "\(folder)/data"])
    }

    /// Runs SQL beside the code under test, and returns what `psql` prints.
    @discardableResult
    func sql(_ text: String, in database: String = "postgres") throws -> String {
        try Self.run(
            "\(binaries)/psql",
            [
                "-h", "127.0.0.1", "-p", "\(port)", "-U", "postgres", "-d", database, "-qAtX", "-v", "ON_ERROR_STOP=1",
                "-c", text,
            ])
    }

    /// A new empty database.
    func makeDatabase() throws -> String {
        let name = "t_" + String(UInt64.random(in: 0 ... .max), radix: 36)
        try sql("CREATE DATABASE \(name)")
        return name
    }

    private func asPostgres(_ tool: String, _ arguments: [String]) throws {
        try Self.run(
            "/bin/sh", ["-c", "cd /; exec \(Self.postgresUser) \"$0\" \"$@\"", "\(binaries)/\(tool)"] + arguments)
    }

    /// Ends with this process: its standard input is a pipe that only we hold.
    private func startGuardian() throws {
        let pipe = Pipe()
        _ = fcntl(pipe.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        guardian.executableURL = URL(fileURLWithPath: "/bin/sh")
        guardian.arguments = [
            "-c",
            """
            cat >/dev/null; cd /
            \(Self.postgresUser) \(binaries)/pg_ctl stop -m immediate -D \(folder)/data >/dev/null 2>&1
            rm -rf \(folder)
            """,
        ]
        guardian.standardInput = pipe
        try guardian.run()
    }

    /// Postgres refuses to run as root.
    private static let postgresUser =
        geteuid() == 0 ? "setpriv --reuid=postgres --regid=postgres --init-groups" : ""

    @discardableResult
    private static func run(_ path: String, _ arguments: [String]) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: path)
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure(output: text) }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    private static func freePort() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw Failure(output: "no free port") }
        return UInt16(bigEndian: address.sin_port)
    }
}
