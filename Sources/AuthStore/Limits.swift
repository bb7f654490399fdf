/// Bounds of the store.
enum Limits {
    /// Keys in memory that are older than this are read again before they are used: half of what the domain allows for
    /// (`AuthDomain.Limits.keyFollowing`), the rest is for the look itself and for a signature on its way.
    static let keyringAgeMax = Duration.seconds(30)

    /// Write connections that one user's requests hold at once, those of one device, and how many more of the user wait.
    static let writesOfUserMax = 4
    static let writesOfDeviceMax = 2
    static let writesWaitingOfUserMax = 128
    /// With the write itself an answer still comes within 5 s; one that waits longer has lost its client.
    static let writeTurnWait = Duration.seconds(2)

    /// How often an act on the keys begins anew because another one came between.
    static let keyActTriesMax = 4

    /// Ids of sessions that one mark names. A user with more has old ones, which are refused by their age.
    static let markedSessionsMax = 10_000

    /// Rows of one step of sealing anew: some hundred kilobytes, some milliseconds of locks.
    static let rewrapBatch = 500
}
