import Foundation
import EmbeddedPostgres

/// A fresh, empty database of a scratch cluster, dropped with the last reference to it.
package final class ScratchDatabase: Sendable {
    package let name: String
    private let cluster: ScratchCluster

    init(on cluster: ScratchCluster, encoding: String? = nil) throws {
        self.cluster = cluster
        name = "scratch_\(String(UInt64.random(in: 0 ... .max), radix: 16))"
        if let encoding {
            try cluster.sql(
                "CREATE DATABASE \(EmbeddedPostgres.quoted(name)) ENCODING '\(encoding)' LC_COLLATE 'C' "
                    + "LC_CTYPE 'C' TEMPLATE template0")
        } else {
            try cluster.postgres.createDatabase(name)
        }
    }

    deinit {
        // Best effort: the whole cluster goes at the end of the run.
        _ = try? cluster.postgres.runSQL(
            "DROP DATABASE IF EXISTS \(EmbeddedPostgres.quoted(name)) WITH (FORCE)", database: "postgres")
    }

    /// A libpq URI of the superuser.
    package var url: String { url(role: "postgres") }

    package func url(role: String) -> String { cluster.postgres.connectionURL(database: name, role: role) }

    /// Runs a script through psql: the rows of all its statements as text, NULL as the empty text.
    @discardableResult
    package func sql(_ text: String) throws -> [[String]] {
        try cluster.postgres.runSQL(text, database: name)
    }

    /// What `pg_dump` writes of one schema.
    package func dump(schema: String) throws -> String {
        let process = Process()
        process.executableURL = URL(filePath: cluster.postgres.path(ofProgram: "pg_dump"))
        process.arguments = ["--inserts", "--schema", schema, "--dbname", url]
        process.environment = ["LC_ALL": "C.UTF-8"]
        let output = Pipe()
        process.standardOutput = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        let content = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw DumpFailed(status: process.terminationStatus) }
        return String(decoding: content, as: UTF8.self)
    }

    package struct DumpFailed: Error {
        package let status: Int32
    }
}
