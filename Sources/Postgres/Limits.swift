import Primitives

/// What this module never exceeds; what an operator may set is in `DatabaseConfiguration`.
enum Limits {
    /// Reads sent or waiting on one loop. More means that the database has been too slow for seconds: refuse at once.
    static let pendingReadsMax = 4_096
    /// Requests waiting for an exclusive connection on one loop; each would wait longer than it is worth.
    static let waitingWritersMax = 1_024
    /// Pause after the first failed connection attempt; doubles with each further one.
    static let reconnectPauseFirst: Duration = .milliseconds(50)
    /// With the attempt itself this stays below the promise to work again 2 s after the database does.
    static let reconnectPauseMax: Duration = .seconds(1)
    /// Attempts a second, whole process, at databases that have just refused one.
    static let reconnectAttemptsPerSecond = 5
    /// How often a contended transaction is tried in all, and the pause between tries.
    static let contentionAttemptsMax = 3
    static let contentionPauseMin: Duration = .milliseconds(5)
    static let contentionPauseSpread: Duration = .milliseconds(45)
    /// How often a backend's id is read to find a pooler.
    static let poolerReads = 4
    /// Addresses taken of one host name.
    static let addressesPerHostMax = 8
    /// Characters of the sentence about a failed connection.
    static let faultCharactersMax = 500
    /// Hosts of one URL.
    static let hostsMax = 16
    /// One migration script. It runs alone and may rewrite a table.
    static let migrationDeadline: Duration = .seconds(3_600)
    /// How long a migration waits for a table's lock before it gives up, so that it does not block the product behind it.
    static let migrationLockTimeout: Duration = .seconds(10)
    /// How long one `migrate` waits for another one to finish.
    static let migrationTurnTimeout: Duration = .seconds(120)
    /// Goodbyes at `close()`.
    static let drainTimeout: Duration = .seconds(5)
    /// How often `close()` looks whether all is done.
    static let drainPoll: Duration = .milliseconds(10)
    /// Debian's libpq and server meet here when the URL names no host.
    static let socketDirectoryDefault = "/var/run/postgresql"
}
