package import Primitives

/// What has ended, for resource servers; a reader may wait for news.
package struct RevocationFeed: Sendable {
    private let policy: AuthPolicy
    private let store: any RevocationStore
    private let clock: any WallClock
    private let pause: @Sendable (Duration) async -> Void
    private let isStopping: @Sendable () -> Bool

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
    package func page(
        since cursor: String?, wait: Duration, isNews: (RevocationPage) -> Bool
    ) async throws(AuthFailure) -> RevocationPage {
        var left = wait
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
}
