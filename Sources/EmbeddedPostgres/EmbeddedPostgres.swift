import Glibc
import Primitives

/// A private PostgreSQL cluster: a folder, and a server that lives no longer than this process.
///
/// Made for `sallyport dev` and for tests. Every local user can connect as `postgres` through the loopback port (trust
/// authentication), so it must hold nothing of value. All calls block; none is for an event loop.
package final class EmbeddedPostgres: Sendable {
    package enum Durability: Sendable {
        /// What was committed survives a crash of the machine.
        case durable
        /// For throw-away clusters: survives a crash of the server only.
        case throwAway
    }

    package enum StopMode: Sendable {
        /// Open connections are cut, a checkpoint is written.
        case fast
        /// As in a crash: the next start recovers from the log.
        case immediate
    }

    private struct Server {
        var process: EmbeddedPostgresProcess?
        var port: UInt16
        /// Where the port was chosen and not given.
        var reservation: Reservation?
    }

    /// A box, since a value that cannot be copied cannot lie in `Locked`.
    private final class Reservation: Sendable {
        let port: LoopbackPort

        init(_ port: consuming LoopbackPort) { self.port = port }
    }

    private let folder: EmbeddedPostgresFolder
    private let account: EmbeddedPostgresAccount
    private let binaries: EmbeddedPostgresBinaries
    private let durability: Durability
    private let connectionsMax: Int
    /// Held for the whole of a start or stop: two callers cannot cross, and whoever asks for the port waits.
    private let server: Locked<Server>

    /// Checks the folder and finds the programs; starts nothing.
    ///
    /// - Parameters:
    ///   - folder: an absolute path; made when it is not there, its parent must be.
    ///   - port: on 127.0.0.1; 0 takes a free one at the first start, which later starts keep.
    package init(
        folder: String, port: UInt16 = 0, durability: Durability = .durable, connectionsMax: Int = 100
    ) throws(EmbeddedPostgresError) {
        let account = try EmbeddedPostgresAccount.current()
        self.folder = EmbeddedPostgresFolder(path: folder)
        self.account = account
        self.durability = durability
        self.connectionsMax = connectionsMax
        try self.folder.prepare(for: account)
        binaries = try EmbeddedPostgresBinaries(version: self.folder.version)
        server = Locked(Server(process: nil, port: port))
    }

    deinit { stop(.fast) }

    /// The folder for a project's own cluster: `.sallyport` in it where the server's account can enter, else one
    /// below /var/tmp.
    ///
    /// - Parameter project: absolute path, usually the working directory.
    package static func folder(forProject project: String) throws(EmbeddedPostgresError) -> String {
        EmbeddedPostgresFolder.choose(project: project, account: try .current()).path
    }

    /// 0 before the first start.
    package var port: UInt16 { server.withLock { $0.port } }

    package var isRunning: Bool { server.withLock { $0.process?.isRunning ?? false } }

    /// The server's process while it runs.
    package var processID: Int32? { server.withLock { $0.process?.processID } }

    /// A libpq URI, without a password: the cluster trusts the loopback. Valid after the first start.
    package func connectionURL(database: String, role: String = "postgres") -> String {
        "postgresql://\(role)@127.0.0.1:\(port)/\(database)"
    }

    /// Makes the cluster if there is none, starts the server and waits until it accepts connections. Does nothing when
    /// it runs.
    package func start() throws(EmbeddedPostgresError) {
        try server.withLock { (server) throws(EmbeddedPostgresError) in
            if server.process?.isRunning ?? false { return }
            if folder.version == nil { try initialize() }
            try folder.clearLockFile()
            for attempt in 1...EmbeddedPostgresLimits.startAttempts {
                if server.port == 0 { server.reservation = Reservation(try LoopbackPort.reserve()) }
                let port = server.reservation?.port.number ?? server.port
                let process = try launch(port: port)
                let isSettled = waitUntil(limit: EmbeddedPostgresLimits.start) { folder.isReady || !process.isRunning }
                if isSettled, process.isRunning {
                    server.process = process
                    server.port = port
                    return
                }
                end(process, first: SIGQUIT)
                if attempt == EmbeddedPostgresLimits.startAttempts { throw .didNotStart(log: folder.lastLogLine) }
                usleep(EmbeddedPostgresLimits.attemptPauseMicroseconds)
            }
        }
    }

    /// Stops the server and waits for its end, with harder signals when it does not go. Does nothing when it does not
    /// run.
    package func stop(_ mode: StopMode) {
        server.withLock { server in
            guard let process = server.process else { return }
            end(process, first: mode == .fast ? SIGINT : SIGQUIT)
            server.process = nil
        }
    }

    /// Whether a database of this name can be connected to.
    package func hasDatabase(_ name: String) -> Bool {
        (try? runSQL("", database: name)) != nil
    }

    /// A copy of template1.
    package func createDatabase(_ name: String) throws(EmbeddedPostgresError) {
        try runSQL("CREATE DATABASE \(Self.quoted(name))", database: "postgres")
    }

    /// Where one of PostgreSQL's own programs is.
    package func path(ofProgram program: String) -> String { binaries.path(program) }

    /// Runs a script as the superuser, up to its first error.
    ///
    /// - Returns: the rows of all its statements; NULL is the empty text.
    /// - Throws: `.sqlFailed`
    @discardableResult
    package func runSQL(_ text: String, database: String) throws(EmbeddedPostgresError) -> [[String]] {
        let command = ChildProcess(
            [
                binaries.path("psql"), "-X", "-q", "-A", "-t", "-0", "-F", "\u{1f}", "-v", "ON_ERROR_STOP=1",
                "-h", folder.path, "-p", String(port), "-U", "postgres", "-d", database, "-f", "-",
            ],
            environment: EmbeddedPostgresBinaries.environment)
        let outcome = try command.run(input: text, limit: EmbeddedPostgresLimits.statements)
        guard outcome.status == 0 else {
            let line = outcome.errors.split(separator: "\n").first.map(String.init)
            throw .sqlFailed(message: line ?? "psql ended with status \(outcome.status)")
        }
        return outcome.output.split(separator: "\0").map { row in
            row.split(separator: "\u{1f}", omittingEmptySubsequences: false).map(String.init)
        }
    }

    /// An identifier as SQL text.
    package static func quoted(_ identifier: String) -> String {
        "\"" + identifier.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    /// Into a folder beside it, renamed at the end: an interrupted initdb leaves no half cluster.
    private func initialize() throws(EmbeddedPostgresError) {
        let unfinished = folder.data + ".new"
        try runAsAccount(["/bin/rm", "-rf", "--", unfinished])
        var arguments = [
            binaries.path("initdb"), "-D", unfinished, "-U", "postgres", "-A", "trust", "-E", "UTF8",
            "--locale=C.UTF-8",
        ]
        if durability == .throwAway { arguments.append("--no-sync") }
        try runAsAccount(arguments)
        try writeAccessRules("\(unfinished)/pg_hba.conf")
        guard rename(unfinished, folder.data) == 0 else {
            throw .folderUnusable(path: folder.data, reason: String(cString: strerror(errno)))
        }
    }

    /// In place, so that the file keeps its owner.
    private func writeAccessRules(_ path: String) throws(EmbeddedPostgresError) {
        let rules = """
            local all all trust
            host all all 127.0.0.1/32 trust
            host replication postgres 127.0.0.1/32 trust

            """
        let file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW)
        defer { if file >= 0 { close(file) } }
        guard file >= 0, writeAll(Array(rules.utf8), to: file) else {
            throw .folderUnusable(path: path, reason: String(cString: strerror(errno)))
        }
    }

    private func runAsAccount(_ arguments: [String]) throws(EmbeddedPostgresError) {
        let command = ChildProcess(
            account.prefix + arguments, environment: EmbeddedPostgresBinaries.environment, directory: folder.path)
        let outcome = try command.run(limit: EmbeddedPostgresLimits.initialize)
        guard outcome.status == 0 else {
            let name = arguments[0].split(separator: "/").last.map(String.init) ?? arguments[0]
            let line = outcome.errors.split(separator: "\n").first.map(String.init)
            throw .programFailed(name: name, reason: line ?? "status \(outcome.status)")
        }
    }

    private func launch(port: UInt16) throws(EmbeddedPostgresError) -> EmbeddedPostgresProcess {
        var settings = ["max_connections=\(connectionsMax)", "timezone=UTC", "log_timezone=UTC"]
        if durability == .throwAway {
            settings += ["fsync=off", "full_page_writes=off", "shared_buffers=32MB"]
        }
        let arguments =
            [binaries.path("postgres"), "-D", folder.data, "-h", "127.0.0.1", "-p", String(port), "-k", folder.path]
            + settings.flatMap { ["-c", $0] }
        let command = ChildProcess(
            account.dyingPrefix + arguments, environment: EmbeddedPostgresBinaries.environment,
            directory: folder.path)
        return try EmbeddedPostgresProcess(command, logPath: folder.log)
    }

    /// The number in the lock file goes first: with `runuser` our child is not the server itself.
    private func end(_ process: EmbeddedPostgresProcess, first: Int32) {
        for signal in [first, SIGQUIT, SIGKILL] {
            guard let child = process.processID else { return }
            kill(folder.lockedProcess ?? child, signal)
            if process.waitForEnd(limit: EmbeddedPostgresLimits.stop) { return }
        }
    }
}
