import Postgres
import Primitives
import Reactor
import Telemetry

/// A database on a loop of its own, for commands that end when they are done.
struct CommandDatabase {
    let url: Secret<String>
    var isReadOnly = false

    func use<Value: Sendable>(
        _ body: @escaping @Sendable (Database) async throws(DatabaseError) -> Value
    ) throws(DatabaseError) -> Value {
        let loop: EventLoop
        do throws(ReactorError) {
            loop = try EventLoop(name: "command")
        } catch {
            throw .unavailable(.exhausted)
        }
        var configuration = DatabaseConfiguration(applicationName: "sallyport-command")
        configuration.isReadOnly = isReadOnly
        let database = try Database(url: url, loop: loop, configuration: configuration, logger: .disabled)
        loop.start()
        let result = loop.runBlocking { () async -> Result<Value, DatabaseError> in
            let result: Result<Value, DatabaseError>
            do throws(DatabaseError) { result = .success(try await body(database)) } catch { result = .failure(error) }
            await database.close()
            return result
        }
        loop.stop()
        loop.join()
        return try result.get()
    }
}

extension ProcessEnvironment {
    /// The database's address, which no command but `token` and `doctor` can do without.
    func required(_ url: Secret<String>?) -> Secret<String>? {
        if url == nil { complain("SALLYPORT_DATABASE_URL: must be set") }
        return url
    }

    /// Runs a command against a database; what goes wrong is said and makes the exit status 1.
    func using<Value: Sendable>(
        _ url: Secret<String>?, isReadOnly: Bool = false,
        _ body: @escaping @Sendable (Database) async throws(DatabaseError) -> Value
    ) -> Value? {
        guard let url = required(url) else { return nil }
        do throws(DatabaseError) {
            return try CommandDatabase(url: url, isReadOnly: isReadOnly).use(body)
        } catch {
            complain(error.description)
            return nil
        }
    }
}
