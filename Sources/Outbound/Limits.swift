import Primitives

/// Bounds of what is fetched from elsewhere.
enum Limits {
    /// Until there is a connection, TLS included.
    static let connect = Duration.seconds(5)
    /// Until the last byte.
    static let total = Duration.seconds(10)
    /// Bytes of a body: key sets and metadata are a thousandth of it.
    static let bodyBytesMax = 1_048_576
    /// Bytes of all header fields.
    static let fieldBytesMax = 65_536
    /// Characters of an address.
    static let addressCharactersMax = 2_048
}
