enum Limits {
    /// Bytes of log lines that may wait for a slow reader: some thousand lines, a minute of a busy server's warnings.
    static let logQueueBytesMax = 1 << 20

    /// Between two lines of one kind that clients can cause without bound.
    static let throttleInterval = Duration.seconds(5)

    /// Nanoseconds for which lines come together before they are written: 200 writes a second at most.
    static let logGatherNanoseconds = 5_000_000

    /// Upper bounds of the latency histograms, in seconds: from a key set out of memory to the longest answer.
    static let latencyBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
}
