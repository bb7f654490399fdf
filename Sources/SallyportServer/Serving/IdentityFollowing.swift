import AuthDomain
import AuthStore
import Postgres
import Primitives
import Reactor
import Telemetry

/// Looks at the identity store again and again, in turns with the other servers.
struct IdentityFollowing: Sendable {
    let watch: IdentityWatch
    /// How soon an end there is known here.
    let poll: Duration
    let clock: any WallClock
    let health: WatchHealth
    let database: Database
    let logger: Logger

    /// Two looks in each period leave room for the second read of what seems to have ended.
    private var interval: Duration { poll / 2 }
    private var pause: Duration { min(interval / 8, Limits.identityTurnPauseMax) }

    func begin(on loop: EventLoop) {
        loop.spawn {
            var isReported = false
            while true {
                await loop.sleep(for: pause)
                // What has expired there is told by the time.
                if clock.isInDoubt { continue }
                do throws(AuthDomain.Unavailability) {
                    let outcome = try await lookTwice(on: loop)
                    if outcome != .notOurTurn { isReported = report(outcome, isReported: isReported) }
                } catch {
                    health.noteFailure()
                    logger.warning("linked sessions could not be read", [LogField("reason", error.rawValue)])
                }
                await learnCompletion()
            }
        }
    }

    /// Another server's look counts as well.
    private func learnCompletion() async {
        do throws(DatabaseError) {
            health.note(completedAt: try await DisappearanceRecord.lastCompletion(in: database))
        } catch {
            logger.debug("the last look could not be read", [LogField("reason", error.description)])
        }
    }

    private func lookTwice(on loop: EventLoop) async throws(AuthDomain.Unavailability) -> IdentityWatch.Outcome {
        let first = try await watch.look(every: interval)
        guard case .inDoubt(let census) = first else { return first }
        await loop.sleep(for: AuthDomain.Limits.absenceConfirmation + Limits.identityConfirmationMargin)
        return try await watch.confirm(census)
    }

    private func report(_ outcome: IdentityWatch.Outcome, isReported: Bool) -> Bool {
        guard case .disappearance(let disappearance) = outcome else { return false }
        guard !isReported else { return true }
        logger.error(
            "linked sessions or users have vanished: nothing is believed until `sallyport identity confirm` or `dismiss`",
            [
                LogField("identity.cause", disappearance.cause.rawValue),
                LogField("identity.sessions_known", disappearance.census.knownSessions),
                LogField("identity.sessions_vanished", disappearance.census.vanishedSessions),
                LogField("identity.users_known", disappearance.census.knownUsers),
                LogField("identity.users_vanished", disappearance.census.vanishedUsers),
            ])
        return true
    }
}
