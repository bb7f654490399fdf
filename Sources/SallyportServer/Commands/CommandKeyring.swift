import AuthDomain
import AuthStore
import Crypto
import Postgres
import Primitives
import Telemetry

/// The keys of a deployment, for a command.
enum CommandKeyring {
    enum Problem: Error, Equatable {
        case noKEK
        case badKEK
        case unreachable(CommandFailure)
        case notOpened
        case none

        var sentence: String {
            switch self {
            case .noKEK: "SALLYPORT_KEK is not set, without which no key in the database can be read."
            case .badKEK: "SALLYPORT_KEK names a key twice."
            case .unreachable(let error): "\(error)."
            case .notOpened: "a key in the database does not open: SALLYPORT_KEK is not the one that sealed it."
            case .none: "the database has no keys yet: the first start of `serve` makes them."
            }
        }
    }

    static func load(_ url: DatabaseURL, _ keys: [Secret<[UInt8]>]) -> Result<Keyring, Problem> {
        guard !keys.isEmpty else { return .failure(.noKEK) }
        guard let sealing = try? KeyEncryptionKeys(keys) else { return .failure(.badKEK) }
        do throws(CommandFailure) {
            return try CommandDatabase(url: url, isReadOnly: true).use { database async throws(DatabaseError) in
                let keyring = PostgresKeyring(
                    databases: LoopDatabases([LoopDatabases.Pair(main: database, identity: database)]),
                    sealing: sealing, clock: SystemClock(), random: SystemRandom(), logger: .disabled)
                do throws(AuthDomain.Unavailability) {
                    return .success(try await keyring.reload())
                } catch {
                    switch error {
                    case .starting: return .failure(.none)
                    case .misconfigured where keyring.isSealedByAnotherKey: return .failure(.notOpened)
                    case .misconfigured: throw .unavailable(.misconfigured)
                    case .busy: throw .unavailable(.busy)
                    case .dependency, .stopping: throw .unavailable(.dependency)
                    }
                }
            }
        } catch {
            return .failure(.unreachable(error))
        }
    }
}
