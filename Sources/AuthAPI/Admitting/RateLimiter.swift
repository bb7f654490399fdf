import AuthDomain
import Primitives

/// Counts what client addresses and device sessions ask for.
///
/// One for all loops of a process, behind one lock: the kernel spreads a client's connections over the loops, so that
/// buckets of each loop would allow a client as many times the limit as it happens to hit loops. The lock is held for two
/// look-ups. Several servers count for themselves. Time is the monotonic clock's: a wall clock that is set would empty or
/// fill every bucket at once.
package final class RateLimiter: SessionThrottle {
    private struct State {
        var addresses = BucketTable<IPAddress>(keysMax: Limits.bucketsMax)
        var blocks = BucketTable<IPAddress>(keysMax: Limits.bucketsMax)
        var sessions = BucketTable<String>(keysMax: Limits.bucketsMax)
    }

    private let limits: RateLimits
    private let now: @Sendable () -> Duration
    private let state = Locked(State())

    /// - Parameter now: never goes back.
    package init(_ limits: RateLimits, now: @escaping @Sendable () -> Duration) {
        self.limits = limits
        self.now = now
    }

    /// How long the address has to wait. `nil` when the request may pass, and then it has been counted; a request that may not costs nothing.
    ///
    /// IPv6 by /64, which is what one household or host has to choose from, with a wider bucket for the /48 around it.
    func wait(address: IPAddress) -> Duration? {
        guard let limit = limits.address else { return nil }
        let now = nanoseconds
        if address.isIPv4 {
            return state.withLock { Self.take(address, of: &$0.addresses, limit, now) }
        }
        let block = address.prefix(48)
        let blockLimit = limit.times(Limits.networksPerBlock)
        return state.withLock { state in
            let wait = blockLimit.wait(fullAt: state.blocks.fullAt(block), now: now)
            if wait > 0 { return .nanoseconds(wait) }
            if let wait = Self.take(address.prefix(64), of: &state.addresses, limit, now) { return wait }
            return Self.take(block, of: &state.blocks, blockLimit, now)
        }
    }

    package func wait(sessionID: String) -> Duration? {
        guard let limit = limits.session else { return nil }
        let now = nanoseconds
        return state.withLock { Self.take(sessionID, of: &$0.sessions, limit, now) }
    }

    private static func take<Key>(
        _ key: Key, of table: inout BucketTable<Key>, _ limit: RateLimit, _ now: Int64
    ) -> Duration? {
        let fullAt = table.fullAt(key)
        let wait = limit.wait(fullAt: fullAt, now: now)
        guard wait == 0 else { return .nanoseconds(wait) }
        table.set(key, fullAt: limit.taken(fullAt: fullAt, now: now), now: now)
        return nil
    }

    private var nanoseconds: Int64 {
        let parts = now().components
        return parts.seconds * 1_000_000_000 + parts.attoseconds / 1_000_000_000
    }
}
