/// What the reactor may use at most.
enum Limits {
    /// Events that one `epoll_wait` returns; more wait for the next turn.
    static let eventsPerTurn = 256

    /// Nanoseconds that each source of jobs has in a turn; the job that is under way then ends.
    static let shareNanoseconds: UInt64 = 1_000_000

    /// Nanoseconds after which a job that could go on, as for a client that sends requests without end, passes.
    static let jobNanoseconds: UInt64 = 100_000

    /// Nanoseconds that a task waits for a quiet turn before it has one among the others.
    static let quietWaitMax: UInt64 = 2_000_000

    /// How often deadlines of sockets are looked at: they may strike this much late.
    static let deadlineTickNanoseconds: UInt64 = 200_000_000

    /// Ticks that the deadlines of sockets are kept apart for: 12.8 s. One further off is looked at and put off again.
    static let deadlineTicks = 64

    /// Pending connections of a listener; the kernel cuts it to net.core.somaxconn.
    static let acceptBacklog: Int32 = 1_024

    /// Pause of accepting when the process is out of descriptors.
    static let acceptPause = Duration.milliseconds(100)
}
