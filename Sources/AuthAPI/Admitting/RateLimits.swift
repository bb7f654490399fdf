/// How often one client may ask. `nil` is without a limit.
package struct RateLimits: Equatable, Sendable {
    /// Of a client address; of a /64 where it is IPv6.
    package var address: RateLimit?
    package var session: RateLimit?

    package init(address: RateLimit?, session: RateLimit?) {
        self.address = address
        self.session = session
    }
}

/// So many requests at once, and as many a minute in the long run.
///
/// A token bucket that holds a minute's worth and fills evenly. Its whole state is the instant at which it would be full
/// again: a request moves that instant one interval on, and may not move it further than a minute ahead of now.
package struct RateLimit: Equatable, Sendable {
    package let perMinute: Int

    /// - Precondition: at least 1.
    package init(perMinute: Int) {
        precondition(perMinute > 0, "a bucket that never fills")
        self.perMinute = perMinute
    }

    /// Every bucket is full again after this long without a request.
    static let fillNanoseconds: Int64 = 60_000_000_000

    /// Nanoseconds until one more request fits; 0 when it does now.
    func wait(fullAt: Int64, now: Int64) -> Int64 {
        max(0, taken(fullAt: fullAt, now: now) - now - Self.fillNanoseconds)
    }

    /// The bucket after one more request.
    func taken(fullAt: Int64, now: Int64) -> Int64 {
        max(fullAt, now) + Self.fillNanoseconds / Int64(perMinute)
    }

    /// The same for many who share one block of addresses.
    func times(_ factor: Int) -> RateLimit { RateLimit(perMinute: perMinute * factor) }
}
