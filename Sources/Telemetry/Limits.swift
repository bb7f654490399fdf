enum Limits {
    /// Bytes of log lines that may wait for a slow reader: some thousand lines, a minute of a busy server's warnings.
    static let logQueueBytesMax = 1 << 20
}
