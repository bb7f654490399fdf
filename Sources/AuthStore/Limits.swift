/// Bounds of the store.
enum Limits {
    /// Keys in memory that are older than this are read again before they are used: half of what the domain allows for
    /// (`AuthDomain.Limits.keyFollowing`), the rest is for the look itself and for a signature on its way.
    static let keyringAgeMax = Duration.seconds(30)

    /// How often an act on the keys begins anew because another one came between.
    static let keyActTriesMax = 4

    /// Ids of sessions that one mark names. A user with more has old ones, which are refused by their age.
    static let markedSessionsMax = 10_000

    /// Rows of one step of sealing anew: some hundred kilobytes, some milliseconds of locks.
    static let rewrapBatch = 500
}
