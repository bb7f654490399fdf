import Glibc
import Primitives

/// The folder of a private cluster:
///
///     <path>/data              PostgreSQL's data folder
///     <path>/log               what the server printed since its last start
///     <path>/.s.PGSQL.<port>   its unix socket
struct EmbeddedPostgresFolder: Sendable {
    let path: String

    var data: String { "\(path)/data" }
    var log: String { "\(path)/log" }
    var lockFile: String { "\(data)/postmaster.pid" }

    /// The major version of the data that is there, or nil when there is none yet.
    var version: String? {
        readText("\(data)/PG_VERSION")?.split(separator: "\n").first.map(String.init)
    }

    /// `sockaddr_un` holds 108 bytes with the closing zero; a port has at most five digits.
    var isShortEnough: Bool { "\(path)/.s.PGSQL.65535".utf8.count <= 107 }

    /// `.sallyport` in the project where the server's account can enter it, else a folder below /var/tmp that is
    /// the same for the same user and project.
    static func choose(project: String, account: EmbeddedPostgresAccount) -> EmbeddedPostgresFolder {
        let local = EmbeddedPostgresFolder(path: "\(project)/.sallyport")
        var status = stat()
        // Left by another user, for instance by root.
        let isForeign = lstat(local.path, &status) == 0 && status.st_uid != account.userID
        if local.isShortEnough, !isForeign, access(project, W_OK) == 0, account.canEnter(project) { return local }
        // FNV-1a: a name, not a secret; the owner of the folder is checked before it is used.
        let hash = project.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return EmbeddedPostgresFolder(path: "/var/tmp/sallyport-\(getuid())-\(String(hash, radix: 16))")
    }

    /// Makes the folder, closed to other users, or checks that the one that stands there is ours: anybody may create
    /// a name below /var/tmp first.
    func prepare(for account: EmbeddedPostgresAccount) throws(EmbeddedPostgresError) {
        guard isShortEnough else { throw .folderPathTooLong(path: path) }
        if mkdir(path, 0o700) == 0 {
            guard chown(path, account.userID, account.groupID) == 0 else { throw unusable(reason(errno)) }
            return
        }
        guard errno == EEXIST else { throw unusable(reason(errno)) }
        var status = stat()
        guard lstat(path, &status) == 0 else { throw unusable(reason(errno)) }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw unusable("it is not a folder") }
        guard status.st_uid == account.userID, status.st_mode & 0o022 == 0 else {
            throw unusable("it belongs to another user or is writable by others")
        }
    }

    /// Deals with the lock file of an earlier run. One that ends by itself is waited for; a file whose process is
    /// not a server of this folder is removed, since the number may be taken by now.
    func clearLockFile() throws(EmbeddedPostgresError) {
        // A server whose parent was killed a moment ago needs that moment to say that it is stopping.
        var noticed = ContinuousClock.now
        let isGone = waitUntil(limit: EmbeddedPostgresLimits.start) {
            guard runningServer != nil else { return true }
            if lockFileLines.last?.hasPrefix("stopping") ?? false { noticed = ContinuousClock.now }
            return ContinuousClock.now - noticed > EmbeddedPostgresLimits.stoppingNotice
        }
        if let processID = runningServer {
            throw .alreadyRunning(path: path, processID: processID)
        }
        if isGone { unlink(lockFile) }
    }

    /// The server's process: the first line of the lock file. Its last line says `starting`, `ready` or `stopping`.
    var lockedProcess: pid_t? { lockFileLines.first.flatMap { pid_t($0) } }

    /// Accepts connections; as a standby, ones that read.
    var isReady: Bool {
        let lines = lockFileLines
        return lines.count >= 8 && (lines[7].hasPrefix("ready") || lines[7].hasPrefix("standby"))
    }

    /// PostgreSQL's working directory is its data folder, which tells it from a stranger with the same number.
    private var runningServer: pid_t? {
        guard let processID = lockedProcess, processID > 0 else { return nil }
        var server = stat()
        var here = stat()
        guard stat("/proc/\(processID)/cwd", &server) == 0, stat(data, &here) == 0 else { return nil }
        return server.st_ino == here.st_ino && server.st_dev == here.st_dev ? processID : nil
    }

    private var lockFileLines: [Substring] { readText(lockFile)?.split(separator: "\n") ?? [] }

    /// The reason that the server printed, else its last line.
    var lastLogLine: String {
        let lines = readText(log)?.split(separator: "\n") ?? []
        let reason = lines.last { $0.holds("FATAL:") || $0.holds("PANIC:") } ?? lines.last
        return reason.map(String.init) ?? "it printed nothing"
    }

    private func unusable(_ reason: String) -> EmbeddedPostgresError { .folderUnusable(path: path, reason: reason) }

    private func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}

/// The whole of a small text file, or nil when it cannot be read.
func readText(_ path: String) -> String? {
    let file = open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    return String(decoding: readAll(file), as: UTF8.self)
}
