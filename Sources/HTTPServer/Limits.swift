/// What the connection driver may use at most.
enum Limits {
    /// Bytes of a loop's one read buffer: a read is copied out before anything else of the loop runs.
    static let scratchBytes = 16_384

    /// Answers to pipelined requests are gathered up to this many bytes, then sent.
    static let outputBytesBatched = 65_536

    /// Output buffers that a loop keeps for reuse, and the largest that it keeps.
    static let spareOutputsMax = 16
    static let spareOutputBytesMax = 65_536

    /// After a last answer the rest of the client's bytes is read and dropped: a close with bytes unread would reset
    /// the connection and could take the answer with it. So many bytes and so long.
    static let lingerBytesMax = 1_048_576
    static let lingerTime = Duration.seconds(2)

    /// Connections that the process keeps for `reservedPaths`, and at most a quarter of all.
    static let connectionsReserved = 64

    /// What orchestrators and monitoring ask for: a server whose connections are all taken is not dead.
    static let reservedPaths: Set<String> = ["/livez", "/readyz", "/metrics"]

    /// A connection of the reserve has this long for its one request.
    static let reservedDeadline = Duration.seconds(2)

    /// Connections over the limit that are told so at one time and loop; more are closed without a word.
    static let turnedAwayMax = 64

    /// What a connection that waits may hold in buffers before it counts: the head of any usual client. So slow heads
    /// of some bytes do not use up what slow contents share.
    static let bytesUncounted = 16_384

    /// A connection with its task and its frames at work, in bytes of heap, rounded up: measured 3.3 KiB between requests
    /// and 12 KiB within one. At rest it is less than one.
    static let connectionBytes = 12_288

    /// What libssl holds for it beside that: 15 KiB at rest, a record of 16 KiB each way at work.
    static let secureConnectionBytes = 49_152

    /// How long a drain waits for the first byte of a connection that was accepted and never used.
    static let freshConnectionGrace = Duration.seconds(1)
}
