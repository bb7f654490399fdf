import Foundation
import Primitives
package import EmbeddedPostgres

/// A throw-away PostgreSQL for tests, below /var/tmp: any account can enter that folder, which a clone's need not be.
package final class ScratchCluster: Sendable {
    let postgres: EmbeddedPostgres
    private let folder: String

    /// The one of this test process, started at first use; every test takes its own database from it. Tests that stop
    /// or break the server take `own()`.
    package static var shared: ScratchCluster {
        get throws {
            try sharedCluster.withLock { cluster in
                if let cluster { return cluster }
                let started = try ScratchCluster()
                cluster = started
                atexit { sharedCluster.withLock { $0?.remove() } }
                return started
            }
        }
    }

    /// A started cluster of its own, about a second of work, removed with the last reference to it.
    ///
    /// - Parameter durability: `.durable` where a crash of the server is what is tested.
    package static func own(
        durability: EmbeddedPostgres.Durability = .throwAway, connectionsMax: Int = 300
    ) throws -> ScratchCluster {
        try ScratchCluster(durability: durability, connectionsMax: connectionsMax)
    }

    private init(
        durability: EmbeddedPostgres.Durability = .throwAway, connectionsMax: Int = 300
    ) throws {
        folder = "/var/tmp/sallyport-test-\(getpid())-\(String(UInt32.random(in: 0 ... .max), radix: 16))"
        postgres = try EmbeddedPostgres(folder: folder, durability: durability, connectionsMax: connectionsMax)
        do {
            try postgres.start()
        } catch {
            remove()
            throw error
        }
    }

    deinit { remove() }

    /// A new empty database with a name that nothing else uses.
    ///
    /// - Parameter encoding: by Postgres's name; `nil` is the cluster's, UTF8.
    package func database(encoding: String? = nil) throws -> ScratchDatabase {
        try ScratchDatabase(on: self, encoding: encoding)
    }

    /// The port on 127.0.0.1; a stopped cluster starts again on it.
    package var port: UInt16 { postgres.port }

    package var isRunning: Bool { postgres.isRunning }

    package var processID: Int32? { postgres.processID }

    package func start() throws { try postgres.start() }

    package func stop(_ mode: EmbeddedPostgres.StopMode) { postgres.stop(mode) }

    /// Rows of text, as of `ScratchDatabase.sql`.
    @discardableResult
    package func sql(_ text: String, database: String = "postgres") throws -> [[String]] {
        try postgres.runSQL(text, database: database)
    }

    /// Stops it and takes its folder away; done at the latest with the last reference.
    package func remove() {
        postgres.stop(.immediate)
        try? FileManager.default.removeItem(atPath: folder)
    }
}

private let sharedCluster = Locked<ScratchCluster?>(nil)
