import AuthTesting
import Glibc
import Postgres
import Primitives
import Reactor
import Telemetry
import Testing

/// Runs a body on a loop of its own with one database.
func withDatabase(
    _ url: Secret<String>, configure: (inout DatabaseConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (Database) async throws -> Void
) async throws {
    var configuration = DatabaseConfiguration(applicationName: "sallyport-tests")
    configure(&configuration)
    let loop = try EventLoop(name: "test")
    let settings = configuration
    loop.start()
    let result = await loop.run { () async -> Result<Void, any Error> in
        do {
            let database = try Database(url: DatabaseURL(url), loop: loop, configuration: settings, logger: .disabled)
            do {
                try await body(database)
            } catch {
                await database.close()
                throw error
            }
            await database.close()
            return .success(())
        } catch {
            return .failure(error)
        }
    }
    loop.stop()
    loop.join()
    try result.get()
}

/// The same with a new database on the shared server.
func withScratch(
    configure: (inout DatabaseConfiguration) -> Void = { _ in },
    _ body: @escaping @Sendable (Database, ScratchDatabase) async throws -> Void
) async throws {
    let scratch = try ScratchCluster.shared.database()
    try await withDatabase(Secret(scratch.url), configure: configure) { try await body($0, scratch) }
}

extension ScratchCluster {
    func url(_ database: String = "postgres") -> Secret<String> {
        Secret("postgres://postgres@127.0.0.1:\(port)/\(database)")
    }

    /// Runs SQL beside the code under test; the last row's first column.
    @discardableResult
    func value(_ text: String) throws -> String {
        try sql(text).last?.first ?? ""
    }
}

extension ScratchCluster {
    /// Stops the server by its own signals: SIGINT is a fast stop, SIGQUIT one as in a crash.
    func end(_ signal: Int32) throws {
        let server = try #require(Int32(try value("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)")))
        kill(server, signal)
        while isRunning { usleep(5_000) }
    }
}

extension ScratchDatabase {
    /// The same in this database.
    @discardableResult
    func value(_ text: String) throws -> String {
        try sql(text).last?.first ?? ""
    }
}

func failure(_ body: () async throws(DatabaseError) -> some Any) async -> DatabaseError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}

struct FixedClock: WallClock {
    var instant = Timestamp(secondsSinceEpoch: 1_800_000_000)
    func now() -> Timestamp { instant }
}

enum Probe {
    static let one = Statement("one", "SELECT 1::bigint AS n")
    static let echo = Statement("echo", "SELECT $1::bigint AS n", [.int64])
    static let sleep = Statement("sleep", "SELECT pg_sleep($1::bigint::float8 / 1000)::text AS t", [.int64])
    static let divide = Statement("divide", "SELECT 1 / $1::bigint AS n", [.int64])
    static let backend = Statement("backend", "SELECT pg_backend_pid() AS n")
    static let dieNow = Statement("die_now", "SELECT pg_terminate_backend(pg_backend_pid())::text AS t")
}
