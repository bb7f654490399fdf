import AuthDomain
import AuthStore
import Postgres
import Primitives
import Reactor
import Telemetry

/// Keeps the keys in memory those of the database, and does what their schedule asks for, in turns with the other servers.
struct KeyFollowing: Sendable {
    let keyring: PostgresKeyring
    let lifecycle: KeyLifecycle
    let databases: LoopDatabases
    let logger: Logger

    /// Looks whenever another server says that something has changed, and every few seconds: a notification may be lost.
    func begin(on loop: EventLoop, listeningOn database: Database) {
        let flag = LoopBound(IsLooking(), on: loop)
        keyring.listen(on: database) {
            guard !flag.value.isSet else { return }
            flag.value.isSet = true
            loop.spawn {
                flag.value.isSet = false
                await look()
            }
        }
        loop.spawn {
            while true {
                await loop.sleep(for: Limits.keyringPoll)
                await advance()
            }
        }
    }

    /// Does what is due at this moment, and knows it. On a loop with a database.
    func advance() async {
        await look()
        do throws(DatabaseError) {
            // One act may make the next one due; more than some are none of the schedule's.
            for _ in 0..<Limits.keyActsAtOnce {
                guard try await !lifecycle.advance(in: databases.current.main).isEmpty else { return }
                await look()
            }
        } catch {
            logger.debug("the keys could not be moved", [LogField("reason", error.description)])
        }
    }

    private func look() async {
        do throws(AuthDomain.Unavailability) {
            _ = try await keyring.reload()
        } catch {
            logger.debug("the keys could not be read again", [LogField("reason", error.rawValue)])
        }
    }

    /// Several notifications of one moment are one look. Bound to a loop.
    private final class IsLooking {
        var isSet = false
    }
}
