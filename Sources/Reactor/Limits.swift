/// What the reactor may use at most.
enum Limits {
    /// Events that one `epoll_wait` returns; more wait for the next turn.
    static let eventsPerTurn = 256

    /// Jobs run before the sockets are looked at again.
    static let jobsPerTurn = 256

    /// Busy turns after which a waiting quiet turn runs all the same, so that a storm of reads cannot starve signing.
    static let busyTurnsMax = 16

    /// How often deadlines of sockets are looked at: they may strike this much late.
    static let deadlineTickNanoseconds: UInt64 = 200_000_000

    /// Ticks that the deadlines of sockets are kept apart for: 12.8 s. One further off is looked at and put off again.
    static let deadlineTicks = 64

    /// Pending connections of a listener; the kernel cuts it to net.core.somaxconn.
    static let acceptBacklog: Int32 = 1_024

    /// Pause of accepting when the process is out of descriptors.
    static let acceptPause = Duration.milliseconds(100)

    /// At most one log line about exhausted descriptors in this time.
    static let exhaustionLogEvery = Duration.seconds(5)
}
