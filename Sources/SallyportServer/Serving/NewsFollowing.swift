import AuthStore
import Postgres
import Reactor

/// Looks at keys and clock whenever another server or a command says that something has changed.
struct NewsFollowing: Sendable {
    let keys: KeyFollowing
    let clock: ClockFollowing

    func begin(on loop: EventLoop, listeningOn database: Database) {
        let flag = LoopBound(IsLooking(), on: loop)
        database.listenForNews {
            guard !flag.value.isSet else { return }
            flag.value.isSet = true
            loop.spawn {
                flag.value.isSet = false
                await clock.look()
                await keys.look()
            }
        }
    }

    /// Several notifications of one moment are one look. Bound to a loop.
    private final class IsLooking {
        var isSet = false
    }
}
