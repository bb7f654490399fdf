import Glibc

/// The folder with PostgreSQL's own programs.
struct EmbeddedPostgresBinaries: Sendable {
    let folder: String

    /// Debian keeps one folder per major version, which is not in PATH: the newest of them, else what `pg_config`
    /// names, else PATH.
    ///
    /// - Parameter version: the major version that an existing data folder demands.
    init(version: String?) throws(EmbeddedPostgresError) {
        let candidates = Self.debianFolders(version: version) + Self.configuredFolder() + Self.searchPath
        guard let folder = candidates.first(where: { Self.isServerFolder($0, version: version) }) else {
            throw .binariesNotFound(version: version)
        }
        self.folder = folder
    }

    func path(_ program: String) -> String { "\(folder)/\(program)" }

    /// The first executable of that name in PATH.
    static func inSearchPath(_ program: String) -> String? {
        searchPath.map { "\($0)/\(program)" }.first { access($0, X_OK) == 0 }
    }

    /// What the children may know of our environment. LC_ALL keeps messages in one language, TZ the log in UTC.
    static var environment: [String] {
        ["PATH=\(searchPath.joined(separator: ":"))", "HOME=/", "LC_ALL=C.UTF-8", "TZ=UTC", "PGCONNECT_TIMEOUT=10"]
    }

    private static var searchPath: [String] {
        let value = getenv("PATH").map { String(cString: $0) } ?? ""
        let folders = value.split(separator: ":").map(String.init).filter { $0.hasPrefix("/") }
        // setpriv and runuser may stand where an ordinary user's PATH does not look.
        return folders + ["/usr/bin", "/bin", "/usr/sbin", "/sbin"].filter { !folders.contains($0) }
    }

    private static func debianFolders(version: String?) -> [String] {
        let root = "/usr/lib/postgresql"
        if let version { return ["\(root)/\(version)/bin"] }
        return folderEntries(root).compactMap { Int($0) }.sorted(by: >).map { "\(root)/\($0)/bin" }
    }

    private static func configuredFolder() -> [String] {
        guard let program = inSearchPath("pg_config"),
            let outcome = try? ChildProcess([program, "--bindir"], environment: environment).run(limit: .seconds(10)),
            outcome.status == 0
        else { return [] }
        return outcome.output.split(separator: "\n").map(String.init)
    }

    private static func isServerFolder(_ folder: String, version: String?) -> Bool {
        let all = ["initdb", "postgres", "psql"].allSatisfy { access("\(folder)/\($0)", X_OK) == 0 }
        guard all, let version else { return all }
        let asked = try? ChildProcess(["\(folder)/postgres", "--version"], environment: environment)
            .run(limit: .seconds(10))
        return asked?.output.hasPrefix("postgres (PostgreSQL) \(version).") ?? false
    }
}

func folderEntries(_ path: String) -> [String] {
    guard let folder = opendir(path) else { return [] }
    defer { closedir(folder) }
    var names: [String] = []
    while let entry = readdir(folder) {
        // SAFETY: d_name is a NUL-terminated array inside the entry, valid until the next readdir.
        names.append(withUnsafePointer(to: &entry.pointee.d_name) { UnsafeRawPointer($0).text })
    }
    return names.filter { $0 != "." && $0 != ".." }
}

extension UnsafeRawPointer {
    fileprivate var text: String { String(cString: assumingMemoryBound(to: CChar.self)) }
}
