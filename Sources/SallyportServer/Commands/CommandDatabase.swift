import Postgres
import Reactor
import Telemetry

/// A database on a loop of its own, for commands that end when they are done.
struct CommandDatabase {
    let url: DatabaseURL
    var isReadOnly = false

    func use<Value: Sendable>(
        _ body: @escaping @Sendable (Database) async throws(DatabaseError) -> Value
    ) throws(CommandFailure) -> Value {
        let loop: EventLoop
        do throws(ReactorError) {
            loop = try EventLoop(name: "command")
        } catch {
            throw CommandFailure(description: "no event loop could be made: \(error)")
        }
        var configuration = DatabaseConfiguration(applicationName: "sallyport-command")
        configuration.isReadOnly = isReadOnly
        // A role may be allowed few, of which servers have most.
        configuration.readConnectionsMax = 1
        configuration.exclusiveConnectionsMax = 1
        configuration.poolWait = .seconds(3)
        let database: Database
        do throws(DatabaseFault) {
            database = try Database(url: url, loop: loop, configuration: configuration, logger: .disabled)
        } catch {
            throw CommandFailure(description: error.description)
        }
        loop.start()
        let result = loop.runBlocking { () async -> Result<Value, CommandFailure> in
            let result = await Self.run(body, on: database)
            await database.close()
            return result
        }
        loop.stop()
        loop.join()
        return try result.get()
    }

    private static func run<Value: Sendable>(
        _ body: @Sendable (Database) async throws(DatabaseError) -> Value, on database: Database
    ) async -> Result<Value, CommandFailure> {
        do throws(DatabaseError) {
            if let fault = try await database.poolerFault() {
                return .failure(CommandFailure(description: fault.description))
            }
            return .success(try await body(database))
        } catch {
            return .failure(CommandFailure(description: database.explanation(of: error)))
        }
    }
}

/// Why a command could not do its work: a sentence with advice.
struct CommandFailure: Error, Equatable, CustomStringConvertible {
    let description: String
}

extension ProcessEnvironment {
    /// The database's address, which no command but `token` and `doctor` can do without.
    func required(_ url: DatabaseURL?) -> DatabaseURL? {
        if url == nil { complain("SALLYPORT_DATABASE_URL: must be set") }
        return url
    }

    /// Runs a command against a database; what goes wrong is said and makes the exit status 1.
    func using<Value: Sendable>(
        _ url: DatabaseURL?, isReadOnly: Bool = false,
        _ body: @escaping @Sendable (Database) async throws(DatabaseError) -> Value
    ) -> Value? {
        guard let url = required(url) else { return nil }
        do throws(CommandFailure) {
            return try CommandDatabase(url: url, isReadOnly: isReadOnly).use(body)
        } catch {
            complain(error.description)
            return nil
        }
    }
}
