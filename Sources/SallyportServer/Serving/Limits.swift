/// Bounds of serving.
enum Limits {
    /// A drain ends before orchestrators kill: in-flight requests have this long.
    static let drain = Duration.seconds(8)

    /// Pause between tries to start while the database is away: first, and at most.
    static let startPauseMin = Duration.milliseconds(100)
    static let startPauseMax = Duration.seconds(2)

    /// How often the keys are read again, so that every server follows the others.
    static let keyringPoll = Duration.seconds(30)

    /// Bytes of a settings or secret file.
    static let settingsFileBytesMax = 1 << 20

    /// How often at least a server asks whether it is its turn to look at the identity store.
    static let identityTurnPauseMax = Duration.seconds(2)

    /// Added to the time between the two reads: clocks of the loop and of the wall are not one.
    static let identityConfirmationMargin = Duration.milliseconds(50)

    /// Lines of `sessions list`: what a terminal still shows, and a bounded read.
    static let sessionsListedMax = 1_000
}
