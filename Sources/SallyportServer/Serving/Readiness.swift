import AuthAPI
import AuthDomain
import AuthStore
import Postgres
import Primitives

/// What `/readyz` asks: database, keys, clock, identity store. The schema was verified at the start.
struct Readiness: ReadinessSource {
    let databases: LoopDatabases
    let keys: any KeyringSource
    let clock: FollowedClock
    let mapping: IdentityMapping
    let catalog: IdentityCatalog
    let watch: WatchHealth
    let isPausing: Locked<Bool>
    let isHidingRows: @Sendable () async -> Bool

    func checks() async -> [ReadinessCheck] {
        if isPausing.withLock({ $0 }) { return [.stopping] }
        let databases = databases.current
        let database = await databases.main.ping()
        return [
            ReadinessCheck("database", fault: database.map { Self.word($0) }),
            ReadinessCheck("signing_key", fault: keys.fault),
            ReadinessCheck("clock", fault: clock.fault, warning: clock.warning),
            ReadinessCheck("identity_store", fault: await identityFault(databases)),
        ]
    }

    private func identityFault(_ databases: LoopDatabases.Pair) async -> String? {
        do throws(IdentityCatalog.ReadFailure) {
            let now = try await IdentityCatalog.read(mapping, from: databases.identity)
            return now == catalog ? await disappearance(databases.main) : "changed since the start"
        } catch {
            switch error {
            case .unavailable(let reason): return Self.word(reason)
            case .problem(let problem): return problem.description
            }
        }
    }

    private func disappearance(_ database: Database) async -> String? {
        do throws(DatabaseError) {
            guard let found = try await DisappearanceRecord.read(from: database) else {
                if await isHidingRows() {
                    return "a table shows no row although it has some: row-level security or a view hides them"
                }
                return watch.fault
            }
            let census = found.census
            if found.cause == .table {
                return "a table was missing while \(census.knownUsers) users were known: "
                    + "`sallyport identity confirm` or `dismiss`"
            }
            return "\(census.vanishedUsers) of \(census.knownUsers) users have vanished, with "
                + "\(census.vanishedSessions) of \(census.knownSessions) linked sessions: "
                + "`sallyport identity confirm` or `dismiss`"
        } catch {
            return Self.word(error)
        }
    }

    private static func word(_ error: DatabaseError) -> String {
        if case .unavailable(let reason) = error { reason.rawValue } else { "dependency" }
    }
}
