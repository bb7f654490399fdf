/// Why the private PostgreSQL cluster is not there. Every description is one line that can be shown to the operator.
package enum EmbeddedPostgresError: Error, Equatable, Sendable {
    /// No server binaries; `version` is set when the data folder demands a certain major version.
    case binariesNotFound(version: String?)
    /// Started by root, and there is no other account or no program to change to it.
    case noAccount(reason: String)
    /// The folder exists and belongs to somebody else, or cannot be made or written.
    case folderUnusable(path: String, reason: String)
    /// The unix socket in this folder would have a path beyond what the kernel takes.
    case folderPathTooLong(path: String)
    /// Another server runs on this folder.
    case alreadyRunning(path: String, processID: Int32)
    /// A program could not be started, failed, or did not end in time.
    case programFailed(name: String, reason: String)
    /// The server ended or did not accept connections in time; `log` is its own reason.
    case didNotStart(log: String)
    /// psql refused; `message` is its first line.
    case sqlFailed(message: String)
}

extension EmbeddedPostgresError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .binariesNotFound(let version):
            let package = "postgresql-\(version ?? "15")"
            return "PostgreSQL's server programs were not found; on Debian: apt-get install \(package)"
        case .noAccount(let reason):
            return "PostgreSQL does not run as root: \(reason)"
        case .folderUnusable(let path, let reason):
            return "the folder \(path) cannot hold the database: \(reason)"
        case .folderPathTooLong(let path):
            return "the path \(path) is too long for a unix socket"
        case .alreadyRunning(let path, let processID):
            return "a PostgreSQL server (process \(processID)) already runs on \(path); end it or use it"
        case .programFailed(let name, let reason):
            return "\(name) failed: \(reason)"
        case .didNotStart(let log):
            return "the PostgreSQL server did not start: \(log)"
        case .sqlFailed(let message):
            return "psql refused the statements: \(message)"
        }
    }
}
