import AuthStore
import Postgres
import Primitives

/// `migrate`: applies what is pending, or says how the database stands.
struct MigrateCommand {
    let showsStatus: Bool
    let isStandalone: Bool

    func run(_ reader: SettingsReader, _ environment: ProcessEnvironment) -> Int32 {
        guard let settings = environment.settings(reader, for: .inspecting) else { return 1 }
        guard let url = environment.required(settings.databaseURL) else { return 1 }
        do throws(CommandFailure) {
            if showsStatus {
                let statuses = try MigratedDatabase(url: url).statuses(isStandalone: isStandalone)
                for status in statuses { environment.say(Self.line(status)) }
            } else {
                let names = try MigratedDatabase(url: url).migrate(isStandalone: isStandalone)
                for name in names { environment.say("applied \(name)") }
                if names.isEmpty { environment.say("nothing to do") }
            }
            return 0
        } catch {
            environment.complain(error.description)
            return 1
        }
    }

    private static func line(_ status: MigrationStatus) -> String {
        switch status.state {
        case .applied(let instant): "applied  \(instant.rfc3339)  \(status.name)"
        case .pending: "pending  \(status.name)"
        case .changed: "changed  \(status.name)"
        case .unknown: "unknown  \(status.name)"
        }
    }
}

/// The migrations of a database, for a command.
struct MigratedDatabase {
    let url: DatabaseURL

    func migrate(isStandalone: Bool) throws(CommandFailure) -> [String] {
        try use(isStandalone) { runner, database async throws(MigrationError) in
            try await runner.apply(on: database, clock: SystemClock())
        }
    }

    func statuses(isStandalone: Bool = false) throws(CommandFailure) -> [MigrationStatus] {
        try use(isStandalone) { runner, database async throws(MigrationError) in
            try await runner.status(on: database)
        }
    }

    /// For the schema, and for the tables of a standalone deployment after it.
    private func use<Item: Sendable>(
        _ isStandalone: Bool,
        _ body: @escaping @Sendable (MigrationRunner, Database) async throws(MigrationError) -> [Item]
    ) throws(CommandFailure) -> [Item] {
        let result = try CommandDatabase(url: url).use {
            database async throws(DatabaseError) -> Result<[Item], CommandFailure> in
            do throws(MigrationError) {
                var items = try await body(MigrationRunner(migrations: Migrations.all), database)
                if isStandalone {
                    items += try await body(MigrationRunner(migrations: Migrations.standalone), database)
                }
                return .success(items)
            } catch {
                return .failure(CommandFailure(description: database.explanation(of: error)))
            }
        }
        return try result.get()
    }
}
