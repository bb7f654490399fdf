import AuthStore
import Glibc
import Postgres
import Primitives
import Reactor
import Telemetry

/// The event loops of a process with their databases.
struct Loops: Sendable {
    let all: [EventLoop]
    let databases: LoopDatabases
    let first: LoopDatabases.Pair
    let pairs: [LoopDatabases.Pair]

    init(
        count: Int, database: Secret<String>, identity: Secret<String>, logger: Logger
    ) throws(SettingProblem) {
        var all: [EventLoop] = []
        var pairs: [LoopDatabases.Pair] = []
        for index in 0..<count {
            let loop = try Self.loop(index, logger)
            all.append(loop)
            pairs.append(
                LoopDatabases.Pair(
                    main: try Self.database(
                        database, on: loop, isReadOnly: false, setting: "SALLYPORT_DATABASE_URL", logger),
                    identity: try Self.database(
                        identity, on: loop, isReadOnly: true, setting: "SALLYPORT_IDENTITY_DATABASE_URL", logger)))
        }
        self.all = all
        self.pairs = pairs
        first = pairs[0]
        databases = LoopDatabases(pairs)
    }

    func start() {
        for loop in all { loop.start() }
    }

    func closeDatabases() async {
        for pair in pairs {
            await pair.main.loop.run {
                await pair.main.close()
                await pair.identity.close()
            }
        }
    }

    /// Ends the threads and waits for them; not to be called on a loop.
    func stop() {
        for loop in all { loop.stop() }
        for loop in all { loop.join() }
    }

    /// The cores that this process may run on.
    static var coreCount: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }

    private static func loop(_ index: Int, _ logger: Logger) throws(SettingProblem) -> EventLoop {
        do throws(ReactorError) {
            return try EventLoop(name: "loop-\(index)", logger: logger)
        } catch {
            throw SettingProblem(name: "SALLYPORT_WORKERS", message: "no event loop could be made: \(error)")
        }
    }

    private static func database(
        _ url: Secret<String>, on loop: EventLoop, isReadOnly: Bool, setting: String, _ logger: Logger
    ) throws(SettingProblem) -> Database {
        var configuration = DatabaseConfiguration(applicationName: "sallyport")
        configuration.isReadOnly = isReadOnly
        do throws(DatabaseError) {
            return try Database(url: url, loop: loop, configuration: configuration, logger: logger)
        } catch {
            throw SettingProblem(name: setting, message: "is not a URI that libpq can read")
        }
    }
}
