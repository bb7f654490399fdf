import AuthTesting
import Foundation
import EmbeddedPostgres
import Testing

@Suite("Embedded PostgreSQL")
struct EmbeddedPostgresTests {
    @Test("a scratch database answers in rows of text")
    func rows() throws {
        let database = try ScratchCluster.shared.database()
        let rows = try database.sql("SELECT 1, NULL, E'two\\nlines'; SELECT 'x' WHERE false; SELECT '', 'b';")
        #expect(rows == [["1", "", "two\nlines"], ["", "b"]])
    }

    @Test("the cluster is UTF-8 with byte order collation and listens on the loopback only")
    func settings() throws {
        let database = try ScratchCluster.shared.database()
        let rows = try database.sql("SHOW server_encoding; SHOW lc_collate; SHOW listen_addresses; SHOW timezone;")
        #expect(rows == [["UTF8"], ["C.UTF-8"], ["127.0.0.1"], ["UTC"]])
    }

    @Test("two scratch databases share nothing")
    func separateDatabases() throws {
        let cluster = try ScratchCluster.shared
        let (first, second) = (try cluster.database(), try cluster.database())
        try first.sql("CREATE TABLE marks (id integer)")
        #expect(throws: EmbeddedPostgresError.self) { try second.sql("SELECT id FROM marks") }
    }

    @Test("a script ends at its first error, which the caller sees")
    func firstError() throws {
        let database = try ScratchCluster.shared.database()
        let error = #expect(throws: EmbeddedPostgresError.self) {
            try database.sql("CREATE TABLE a (id integer); SELECT nonsense; CREATE TABLE b (id integer);")
        }
        #expect(error?.description.contains("nonsense") == true)
        #expect(try database.sql("SELECT to_regclass('a') IS NULL, to_regclass('b') IS NULL") == [["f", "t"]])
    }

    @Test("a database name is quoted")
    func quotedName() throws {
        let folder = scratchFolder()
        let postgres = try EmbeddedPostgres(folder: folder, durability: .throwAway)
        try postgres.start()
        defer { remove(folder, after: postgres) }
        let name = "odd \" name; --"
        try postgres.createDatabase(name)
        #expect(try postgres.runSQL("SELECT current_database()", database: name) == [[name]])
    }

    @Test("a stopped server starts again on its port with what was committed", arguments: [true, false])
    func restart(isImmediate: Bool) throws {
        let cluster = try ScratchCluster.own()
        let port = cluster.port
        try cluster.sql("CREATE TABLE marks AS SELECT 7 AS id")
        cluster.stop(isImmediate ? .immediate : .fast)
        #expect(!cluster.isRunning)
        #expect(throws: EmbeddedPostgresError.self) { try cluster.sql("SELECT 1") }

        try cluster.start()
        #expect(cluster.port == port)
        #expect(try cluster.sql("SELECT id FROM marks") == [["7"]])
    }

    @Test("a server killed from outside is seen as ended and starts again")
    func killed() throws {
        let cluster = try ScratchCluster.own()
        kill(try #require(cluster.processID), SIGKILL)
        #expect(eventually { !cluster.isRunning })
        try cluster.start()
        #expect(try cluster.sql("SELECT 1") == [["1"]])
    }

    @Test("a second server on a folder in use is refused, with the process that uses it")
    func alreadyRunning() throws {
        let folder = scratchFolder()
        let first = try EmbeddedPostgres(folder: folder, durability: .throwAway)
        try first.start()
        defer { remove(folder, after: first) }
        let processID = try #require(first.processID)
        let second = try EmbeddedPostgres(folder: folder, durability: .throwAway)
        #expect(throws: EmbeddedPostgresError.alreadyRunning(path: folder, processID: processID)) {
            try second.start()
        }
        #expect(first.isRunning)
    }

    @Test("a port in use is refused, with the server's own reason")
    func portInUse() throws {
        let folder = scratchFolder()
        let port = try ScratchCluster.shared.port
        let postgres = try EmbeddedPostgres(folder: folder, port: port, durability: .throwAway)
        defer { remove(folder, after: postgres) }
        let error = #expect(throws: EmbeddedPostgresError.self) { try postgres.start() }
        #expect(error?.description.contains("FATAL") == true)
        #expect(!postgres.isRunning)
    }

    @Test("a lock file whose number is taken by another process is no obstacle")
    func staleLockFile() throws {
        let folder = scratchFolder()
        let postgres = try EmbeddedPostgres(folder: folder, durability: .throwAway)
        try postgres.start()
        defer { remove(folder, after: postgres) }
        postgres.stop(.fast)
        try Data("\(getpid())\n\(folder)/data\n".utf8).write(to: URL(filePath: "\(folder)/data/postmaster.pid"))
        try postgres.start()
        #expect(postgres.isRunning)
    }

    @Test("the server ends when the process that started it is killed")
    func parentDeath() async throws {
        let folder = scratchFolder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        await #expect(processExitsWith: .signal(SIGKILL)) { [folder = folder as String] in
            let postgres = try EmbeddedPostgres(folder: folder, durability: .throwAway)
            try postgres.start()
            let processID = try #require(postgres.processID)
            try Data("\(processID)".utf8).write(to: URL(filePath: "\(folder).pid"))
            kill(getpid(), SIGKILL)
        }
        let note = try String(contentsOfFile: "\(folder).pid", encoding: .utf8)
        try FileManager.default.removeItem(atPath: "\(folder).pid")
        let processID = try #require(pid_t(note))
        #expect(eventually { !FileManager.default.fileExists(atPath: "/proc/\(processID)") })
    }

    @Test("a path too long for a unix socket is refused")
    func longPath() {
        let folder = "/var/tmp/" + String(repeating: "x", count: 100)
        #expect(throws: EmbeddedPostgresError.folderPathTooLong(path: folder)) {
            try EmbeddedPostgres(folder: folder)
        }
    }

    @Test("a folder that others may write is refused")
    func foreignFolder() throws {
        let folder = scratchFolder()
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o777])
        defer { try? FileManager.default.removeItem(atPath: folder) }
        chmod(folder, 0o777)
        #expect(throws: EmbeddedPostgresError.self) { try EmbeddedPostgres(folder: folder) }
    }

    @Test("a link in place of the folder is refused")
    func linkedFolder() throws {
        let folder = scratchFolder()
        try FileManager.default.createSymbolicLink(atPath: folder, withDestinationPath: "/var/tmp")
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(throws: EmbeddedPostgresError.folderUnusable(path: folder, reason: "it is not a folder")) {
            try EmbeddedPostgres(folder: folder)
        }
    }

    @Test("a project whose parents are closed gets a folder below /var/tmp, always the same one")
    func projectFolder() throws {
        let closed = scratchFolder()
        try FileManager.default.createDirectory(
            atPath: closed + "/project", withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        defer { try? FileManager.default.removeItem(atPath: closed) }
        chmod(closed, 0o755)
        #expect(try EmbeddedPostgres.folder(forProject: closed + "/project") == closed + "/project/.sallyport")
        // Root's server runs under another account; an ordinary user's own bits decide.
        chmod(closed, getuid() == 0 ? 0o700 : 0o600)
        let elsewhere = try EmbeddedPostgres.folder(forProject: closed + "/project")
        #expect(elsewhere.hasPrefix("/var/tmp/sallyport-\(getuid())-"))
        #expect(try EmbeddedPostgres.folder(forProject: closed + "/project") == elsewhere)
        chmod(closed, 0o755)
    }

    @Test("what another user left in the project is not used")
    func foreignProjectFolder() throws {
        let project = scratchFolder()
        let folder = project + "/.sallyport"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: project) }
        chmod(project, 0o755)
        // Root's server runs under another account than root, who owns the folder now.
        #expect(try (EmbeddedPostgres.folder(forProject: project) == folder) == (getuid() != 0))
    }

    private func scratchFolder() -> String {
        "/var/tmp/sallyport-test-\(String(UInt64.random(in: 0 ... .max), radix: 16))"
    }

    private func remove(_ folder: String, after postgres: EmbeddedPostgres) {
        postgres.stop(.immediate)
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Ten seconds at most.
    private func eventually(_ condition: () -> Bool) -> Bool {
        for _ in 0..<1_000 where !condition() { usleep(10_000) }
        return condition()
    }
}
