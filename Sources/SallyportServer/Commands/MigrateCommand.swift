import AuthStore
import Postgres
import Primitives
import Reactor
import Telemetry

/// `migrate`: applies what is pending, or says how the database stands.
struct MigrateCommand {
    let showsStatus: Bool
    let isStandalone: Bool

    func run(_ reader: SettingsReader, _ environment: ProcessEnvironment) -> Int32 {
        guard let settings = environment.settings(reader, for: .inspecting) else { return 1 }
        guard let url = settings.databaseURL else {
            environment.complain("SALLYPORT_DATABASE_URL: must be set")
            return 1
        }
        do throws(MigrationError) {
            if showsStatus {
                for status in try MigratedDatabase(url: url).statuses() { environment.say(Self.line(status)) }
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

/// A database on a loop of its own, for commands that end when they are done.
struct MigratedDatabase {
    let url: Secret<String>

    func migrate(isStandalone: Bool) throws(MigrationError) -> [String] {
        try use { database in
            await Self.result { () async throws(MigrationError) in
                let names = try await MigrationRunner(migrations: Migrations.all)
                    .apply(on: database, clock: SystemClock())
                guard isStandalone else { return names }
                return try await names
                    + MigrationRunner(migrations: Migrations.standalone).apply(on: database, clock: SystemClock())
            }
        }
    }

    func statuses() throws(MigrationError) -> [MigrationStatus] {
        try use { database in
            await Self.result { () async throws(MigrationError) in
                try await MigrationRunner(migrations: Migrations.all).status(on: database)
            }
        }
    }

    private func use<Value: Sendable>(
        _ body: @escaping @Sendable (Database) async -> Result<Value, MigrationError>
    ) throws(MigrationError) -> Value {
        guard let loop = try? EventLoop(name: "command") else { throw .unavailable(.unavailable(.exhausted)) }
        let database: Database
        do throws(DatabaseError) {
            database = try Database(
                url: url, loop: loop, configuration: DatabaseConfiguration(applicationName: "sallyport-command"),
                logger: .disabled)
        } catch {
            throw .unavailable(error)
        }
        loop.start()
        let result = loop.runBlocking {
            let result = await body(database)
            await database.close()
            return result
        }
        loop.stop()
        loop.join()
        return try result.get()
    }

    private static func result<Value>(
        _ body: () async throws(MigrationError) -> Value
    ) async -> Result<Value, MigrationError> {
        do throws(MigrationError) { return .success(try await body()) } catch { return .failure(error) }
    }
}
