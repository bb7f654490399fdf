import JSON
import Primitives

enum Limits {
    /// A request's JSON: the connection's own bound on content, and the nesting of objects that have no objects in them.
    static let requestJSON = JSONLimits(bytesMax: 65_536, depthMax: 8)

    /// Characters of a `client_id`; it travels in every access token.
    static let clientIDCharactersMax = 128

    /// Seconds of `Retry-After`, spread by chance so that the clients of one outage do not come back as one.
    static let retryAfterSeconds: ClosedRange<Int64> = 1...5

    /// How long shared caches may keep the key set: well below the time that a key is published before it signs.
    static let keySetAge = Duration.minutes(5)
    /// May still be used while a cache asks for the next one.
    static let keySetStale = Duration.minutes(1)
    /// May still be used while we do not answer: tokens go on being checked through our outage.
    static let keySetStaleOnError = Duration.hours(1)
}
