/// What TLS may use at most.
enum Limits {
    /// Seconds for which a session ticket is taken; RFC 8446 §4.6.1 allows seven days.
    static let ticketLifetimeSeconds = 7_200

    /// Bytes of a certificate or key file: a chain of a dozen certificates is a tenth of it.
    static let fileBytesMax = 262_144
}
