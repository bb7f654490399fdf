/// Bounds of serving.
enum Limits {
    /// A drain ends before orchestrators kill: in-flight requests have this long.
    static let drain = Duration.seconds(8)

    /// Pause between tries to start while the database is away: first, and at most.
    static let startPauseMin = Duration.milliseconds(100)
    static let startPauseMax = Duration.seconds(2)

    /// How often the keys are read again, so that every server follows the others where no notification comes through.
    static let keyringPoll = Duration.seconds(10)

    /// How often the database's clock is read, and while it is in doubt.
    static let clockPoll = Duration.seconds(30)
    static let clockDoubtPoll = Duration.seconds(5)

    /// A reading of the database's clock is exact to half the round trip; one that took longer is not used.
    static let clockRoundTripMax = Duration.milliseconds(100)

    /// Reads of the database's clock before one that is too slow is given up, and the pause between them.
    static let clockTries = 8
    static let clockTryPause = Duration.milliseconds(500)

    /// A larger difference between the database's clock and this machine's is a warning.
    static let clockDifferenceMax = Duration.seconds(5)

    /// Acts on the keys in one go.
    static let keyActsAtOnce = 3

    /// Bytes of a settings or secret file.
    static let settingsFileBytesMax = 1 << 20

    /// How often at least a server asks whether it is its turn to look at the identity store.
    static let identityTurnPauseMax = Duration.seconds(2)

    /// Added to the time between the two reads: clocks of the loop and of the wall are not one.
    static let identityConfirmationMargin = Duration.milliseconds(50)

    /// How often each loop is asked how late it is and what its databases do.
    static let loopSampling = Duration.seconds(1)

    /// Lines of `sessions list`: what a terminal still shows, and a bounded read.
    static let sessionsListedMax = 1_000

    /// Lines of `devices list`, likewise.
    static let devicesListedMax = 1_000

    /// Connections of the process at least, however few descriptors there are.
    static let connectionsMin = 16

    /// Descriptors that are no client's: databases, listeners, loops, files and the spare of each listener.
    static let descriptorsReserved = 128

    /// Below this many descriptors a server is told to be short of them: a shell's usual limit.
    static let descriptorsWanted = 1_024

    /// Bytes of memory beside the connections: the program, libcrypto, keys, database connections, prepared answers, and
    /// 16 MiB of rate limits.
    static let otherBytesMax = 80 << 20
}
