/// Bounds of the domain's rules.
package enum Limits {
    /// Live device sessions of one device; the longest unused ends as `superseded`.
    package static let liveSessionsPerDevice = 10

    /// Devices of a user that are active or suspended, where no other number is set.
    package static let devicesMax = 100

    /// An active device that was seen within this time gives way to no other.
    package static let deviceKept = Duration.seconds(86_400)

    /// Devices of each held status that the list shows: the revoked ones of late, and the lost ones that have been so the
    /// longest, which no later mark pushes out. The others are found by id.
    package static let heldDevicesListed = 100

    /// How far back a late duplicate with its own key is recognised, in generations.
    package static let rotationKeysKept = 8

    /// Replays of one device session in a row, by one server, after which an operator is told.
    static let replaysNoted = 3

    /// Device sessions whose replays one process remembers; of twice as many the newest.
    static let replaysRemembered = 4_096

    /// Tries of a refresh that loses its compare-and-swap, before it is `busy`.
    package static let rotationTriesMax = 8

    /// A session made in this time is fresh proof (RFC 9470).
    package static let freshProof = Duration.seconds(300)

    /// A `createdAt` further ahead of our clock than this is not fresh.
    package static let clockSkew = Duration.seconds(60)

    /// How long a server may still sign with a key that another one has retired: none works with older keys in memory.
    package static let keyFollowing = Duration.seconds(60)

    /// A retired key stays published for so long after its last token: a verifier that cannot fetch keeps its set for
    /// an hour, and must not learn in it that a key is gone which somebody else still knows.
    static let keyHold = Duration.seconds(3_600)

    /// How long past its absolute end a device session's true reason is told, and proved by the key that its client knows.
    package static let tombstoneKept = Duration.seconds(90 * 86_400)

    package static let impersonationLifetimeMax = Duration.seconds(300)

    /// How far ahead of our clock a token of ours may have been issued and be good in a moment: the other server has
    /// followed the database's clock sooner than this one.
    static let issuedAheadMax = Duration.seconds(300)

    /// What the clocks of two servers that follow one differ by: the halves of two round trips, and whole seconds.
    static let clockError = Duration.seconds(1)

    /// A larger difference between the database's clock and what was expected of it is not followed.
    static let clockStepMax = Duration.seconds(60)

    /// How long no server may have run before a first reading that the machine's clock contradicts is doubted.
    static let clockRestMax = Duration.seconds(3_600)

    /// Readings that differ by less are of one clock.
    static let clockAgreement = Duration.seconds(5)

    /// Further readings that have to agree with the one that is in doubt.
    static let clockAgreementsMin = 2

    /// How far ahead of our clock a refresh token may have been issued: our own token, so only our clock can be wrong,
    /// and a clock that was set back must sign nobody out.
    package static let refreshIssuedAheadMax = Duration.seconds(86_400)

    /// Between two looks of a reader that waits for revocations.
    static let revocationPause = Duration.seconds(1)

    /// Readers of one process that wait for revocations: a quarter of the requests that one event loop takes. Each asks
    /// the database once a second.
    static let revocationReadersMax = 256

    /// Entries of one answer of the revocation feed: about 1.5 MB of JSON.
    package static let revocationsPerPage = 10_000

    /// Of `exp - iat` of an access token: the longest that can be set. One that lives longer is none of ours.
    static let accessLifetimeMax = Duration.seconds(3_600)

    /// How long a revoked access token is remembered past its end: the skew that its verifiers may allow, twice.
    package static let revokedTokenKept = Duration.seconds(120)

    /// Bytes of the operator's claims as JSON: they travel with every request of the application.
    package static let customClaimsBytesMax = 2_048

    /// Characters of a credential that is looked at: the largest of ours is below 2 KiB.
    package static let credentialCharactersMax = 8_192

    /// Unicode scalars of a device's display texts.
    package static let deviceTextScalarsMax = 100

    /// Characters of a push token; the platforms' own are below 300, a web push subscription below 2 KiB.
    package static let pushTokenCharactersMax = 4_096

    /// The time between the read that finds an end in the identity store and the one that confirms it.
    package static let absenceConfirmation = Duration.seconds(5)

    /// Linked users who vanish at once: more than this share, in percent, where no other is set, and at least so many, are
    /// a broken store and no verdict.
    package static let vanishedPercentMax = 20
    static let vanishedMin = 10

    /// Users of one random sample, and how long its result counts: a statement of some milliseconds each second. Contract
    /// section 3.
    static let sampledUsers = 500
    static let sampleAge = Duration.seconds(1)

    /// Ids of rows that cannot be read, in one line of the log.
    package static let reportedRows = 10

    /// Linked sessions of one read of the identity store: a statement of some milliseconds.
    package static let sightingBatch = 500
}
