import Foundation
import EmbeddedPostgres

/// A streaming standby of a scratch cluster: the server that a multi-host URL fails over to.
package final class ScratchStandby: Sendable {
    private let postgres: EmbeddedPostgres
    private let folder: String

    /// Copies the primary and starts following it; some seconds of work.
    package init(of primary: ScratchCluster) throws {
        let folder = "/var/tmp/sallyport-standby-\(getpid())-\(String(UInt32.random(in: 0 ... .max), radix: 16))"
        self.folder = folder
        // Made first, so that the folder belongs to the account that PostgreSQL runs as.
        let postgres = try EmbeddedPostgres(folder: folder, durability: .throwAway, connectionsMax: 300)
        self.postgres = postgres
        do {
            try Self.copy(primary, into: folder)
            try postgres.start()
        } catch {
            try? FileManager.default.removeItem(atPath: folder)
            throw error
        }
    }

    deinit {
        postgres.stop(.immediate)
        try? FileManager.default.removeItem(atPath: folder)
    }

    package var port: UInt16 { postgres.port }

    /// Whether it has everything that the primary had at this moment.
    package func hasCaughtUp(with primary: ScratchCluster) throws -> Bool {
        let position = try primary.sql("SELECT pg_current_wal_lsn()")[0][0]
        return try postgres.runSQL(
            "SELECT pg_last_wal_replay_lsn() >= '\(position)'::pg_lsn", database: "postgres") == [["t"]]
    }

    /// Rows of text, of the standby itself.
    @discardableResult
    package func sql(_ text: String) throws -> [[String]] {
        try postgres.runSQL(text, database: "postgres")
    }

    /// Ends recovery: from now on it takes writes.
    package func promote() throws {
        try postgres.runSQL("SELECT pg_promote(true, 30)", database: "postgres")
    }

    private static func copy(_ primary: ScratchCluster, into folder: String) throws {
        let attributes = try FileManager.default.attributesOfItem(atPath: folder)
        let user = "--reuid=\(attributes[.ownerAccountID] ?? 0)"
        let group = "--regid=\(attributes[.groupOwnerAccountID] ?? 0)"
        let account = geteuid() == 0 ? ["/usr/bin/setpriv", user, group, "--clear-groups", "--"] : []
        let programs = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql"))?.max() ?? "15"
        let copy = ChildProcess(
            account + [
                "/usr/lib/postgresql/\(programs)/bin/pg_basebackup", "-h", "127.0.0.1", "-p", "\(primary.port)", "-U",
                "postgres", "-D", "\(folder)/data", "-R", "-X", "stream", "-c", "fast",
            ], environment: ["PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"])
        let outcome = try copy.run(limit: .seconds(60))
        guard outcome.status == 0 else {
            throw EmbeddedPostgresError.programFailed(name: "pg_basebackup", reason: outcome.errors)
        }
    }
}
