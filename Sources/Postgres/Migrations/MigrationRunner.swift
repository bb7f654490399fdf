package import Primitives
import Telemetry

/// Brings a database to the schema of this binary. What has been applied is kept in `sallyport.sallyport_migrations`.
package struct MigrationRunner: Sendable {
    private let migrations: [Migration]

    /// - Precondition: names are in order and none occurs twice.
    package init(migrations: [Migration]) {
        precondition(
            zip(migrations, migrations.dropFirst()).allSatisfy { $0.name < $1.name }, "migrations are not in order")
        self.migrations = migrations
    }

    /// Applies what is pending, each migration in a transaction of its own, and returns the names.
    ///
    /// Safe to call from several processes at once: they take turns on an advisory lock, and the later ones find
    /// nothing to do.
    package func apply(on database: Database, clock: any WallClock) async throws(MigrationError) -> [String] {
        let session = try await MigrationSession(of: database)
        defer { session.end() }
        try await session.createTable()
        var names: [String] = []
        for migration in try await session.plan(for: migrations).pending() {
            try await session.apply(migration, at: clock.now())
            database.logger.info("migration applied", [LogField("db.migration", migration.name)])
            names.append(migration.name)
        }
        return names
    }

    /// Every migration that the binary or the database knows, by name. Changes nothing.
    package func status(on database: Database) async throws(MigrationError) -> [MigrationStatus] {
        try await plan(on: database).statuses
    }

    /// For the start of a server: all migrations of this binary are applied as they are.
    ///
    /// - Returns: the names of newer migrations that this binary does not know, which is no error.
    package func verify(on database: Database) async throws(MigrationError) -> [String] {
        let plan = try await plan(on: database)
        try plan.verify()
        return plan.unknown
    }

    private func plan(on database: Database) async throws(MigrationError) -> MigrationPlan {
        do throws(DatabaseError) {
            for row in try await database.read(MigrationSQL.findTable) where try row.bool("is_there") {
                return MigrationPlan(
                    migrations, applied: try await database.read(MigrationSQL.list).appliedMigrations())
            }
            return MigrationPlan(migrations, applied: [])
        } catch {
            throw .unavailable(error)
        }
    }
}
