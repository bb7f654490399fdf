import AuthStore
import Glibc
import Postgres
import Reactor
import Telemetry

/// The event loops of a process with their databases.
struct Loops: Sendable {
    let all: [EventLoop]
    let databases: LoopDatabases
    let first: LoopDatabases.Pair
    let pairs: [LoopDatabases.Pair]
    /// At the write connections of all loops.
    let turns: SharedTurns

    /// - Parameter identity: `nil`: the identity store is in our database.
    init(
        _ budget: ConnectionBudget, database: DatabaseURL, identity: DatabaseURL?, logger: Logger
    ) throws(SettingProblem) {
        var all: [EventLoop] = []
        var pairs: [LoopDatabases.Pair] = []
        for index in 0..<budget.loops {
            let loop = try Self.loop(index, logger)
            all.append(loop)
            var configuration = DatabaseConfiguration(applicationName: "sallyport")
            configuration.readConnectionsMax = budget.readers
            configuration.exclusiveConnectionsMax = budget.writers
            let main = try Self.database(
                database, on: loop, configuration, setting: "SALLYPORT_DATABASE_URL", logger)
            configuration.isReadOnly = true
            configuration.readConnectionsMax = budget.identityReaders
            configuration.exclusiveConnectionsMax = 0
            pairs.append(
                LoopDatabases.Pair(
                    main: main,
                    identity: budget.identityReaders == 0
                        ? main
                        : try Self.database(
                            identity ?? database, on: loop, configuration,
                            setting: "SALLYPORT_IDENTITY_DATABASE_URL", logger)))
        }
        self.all = all
        self.pairs = pairs
        first = pairs[0]
        databases = LoopDatabases(pairs)
        turns = SharedTurns(loops: all, places: budget.writers)
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
        _ url: DatabaseURL, on loop: EventLoop, _ configuration: DatabaseConfiguration, setting: String,
        _ logger: Logger
    ) throws(SettingProblem) -> Database {
        do throws(DatabaseFault) {
            return try Database(url: url, loop: loop, configuration: configuration, logger: logger)
        } catch {
            throw SettingProblem(name: setting, message: error.description)
        }
    }
}
