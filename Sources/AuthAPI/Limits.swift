import JSON
import Primitives

enum Limits {
    /// A request's JSON: the connection's own bound on content, and the nesting of objects that have no objects in them.
    static let requestJSON = JSONLimits(bytesMax: 65_536, depthMax: 8)

    /// Characters of a `client_id`; it travels in every access token.
    static let clientIDCharactersMax = 128

    /// Seconds of `Retry-After`, spread by chance so that the clients of one outage do not come back as one.
    static let retryAfterSeconds: ClosedRange<Int64> = 1...5
    /// A client that waits longer than this would look dead to its user.
    static let retryAfterSecondsMax: Int64 = 30

    /// Requests of one event loop that are begun and not answered: of a loop, since that is what they wait for. A refresh
    /// costs it about a millisecond of signing, so the last of so many waits a second, and one more would wait longer
    /// than its client does. The signer and the database's pool have their own bounds below it.
    static let concurrentRequestsMax = 1_024

    /// Buckets of each half of a table (`BucketTable`); there are three tables: addresses, blocks of IPv6 addresses, device
    /// sessions. With all six halves full they take some 16 MiB, and no more ever.
    static let bucketsMax = 32_768
    /// Networks of 64 bits that may be at their limit in one IPv6 block of 48 bits, of the 65 536 that it has.
    static let networksPerBlock = 16

    /// How long a browser may go on without asking again. A page's own requests are judged anew each time.
    static let preflightAge = Duration.hours(2)

    /// How long shared caches may keep the key set: well below the time that a key is published before it signs.
    static let keySetAge = Duration.minutes(5)
    /// May still be used while a cache asks for the next one.
    static let keySetStale = Duration.minutes(1)
    /// May still be used while we do not answer: tokens go on being checked through our outage.
    static let keySetStaleOnError = Duration.hours(1)

    /// How long caches may keep a document that only a new start changes.
    static let documentAge = Duration.minutes(5)

    /// Seconds that a reader of the revocation feed may wait: below the idle limits of common proxies.
    static let revocationWaitSecondsMax: Int64 = 30
}
