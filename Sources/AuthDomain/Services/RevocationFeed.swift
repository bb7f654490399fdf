package import Primitives

/// What has ended, for resource servers; a reader may wait for news.
package struct RevocationFeed: Sendable {
    private let policy: AuthPolicy
    private let store: any RevocationStore
    private let clock: any WallClock
    private let pause: @Sendable (Duration) async -> Void
    private let isStopping: @Sendable () -> Bool
    private let waiting = Locked(0)

    /// - Parameters:
    ///   - pause: returns after that time.
    ///   - isStopping: from then on nobody waits.
    package init(
        policy: AuthPolicy, store: any RevocationStore, clock: any WallClock,
        pause: @escaping @Sendable (Duration) async -> Void, isStopping: @escaping @Sendable () -> Bool
    ) {
        self.policy = policy
        self.store = store
        self.clock = clock
        self.pause = pause
        self.isStopping = isStopping
    }

    /// The page behind a cursor, at once or as soon as it is news, and at the latest after `wait`.
    ///
    /// - Parameter isNews: whether a page is worth answering before that.
    /// - Throws: `.unavailable(.busy)` for one reader too many.
    package func page(
        since cursor: String?, wait: Duration, isNews: (RevocationPage) -> Bool
    ) async throws(AuthFailure) -> RevocationPage {
        var left = wait
        if wait > .zero { try beginWaiting() }
        defer { if wait > .zero { waiting.withLock { $0 -= 1 } } }
        while true {
            let page = try await available { () async throws(Unavailability) in
                try await store.revocations(
                    since: cursor, accessLifetime: policy.accessLifetime, at: clock.now())
            }
            guard left > .zero, !page.isReset, !isNews(page), !isStopping() else { return page }
            let step = min(left, Limits.revocationPause)
            await pause(step)
            left -= step
        }
    }

    /// A reader that is gone waits on to the end of its time, and a loop takes so many requests and no more: those of
    /// users must not be the ones that find no room.
    private func beginWaiting() throws(AuthFailure) {
        let hasRoom = waiting.withLock { waiting in
            guard waiting < Limits.revocationReadersMax else { return false }
            waiting += 1
            return true
        }
        guard hasRoom else { throw .unavailable(.busy) }
    }
}
