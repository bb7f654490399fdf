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
    let clock: any WallClock
    let databases: LoopDatabases
    let logger: Logger

    /// Looks every few seconds: a notification may be lost.
    func begin(on loop: EventLoop) {
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
        // The schedule is time alone.
        if clock.isInDoubt { return }
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

    func look() async {
        do throws(AuthDomain.Unavailability) {
            _ = try await keyring.reload()
        } catch {
            logger.debug("the keys could not be read again", [LogField("reason", error.rawValue)])
        }
    }
}
