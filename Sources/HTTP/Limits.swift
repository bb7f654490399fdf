/// What one request may cost. The defaults are the product's.
package struct HTTPLimits: Sendable {
    /// Bytes of the request line without its end. RFC 9112 §3 recommends at least 8 000.
    package var requestLineBytesMax: Int
    /// Fields of a head. Apache and hyper hold the same bound.
    package var fieldsMax: Int
    /// Bytes of all field lines with their ends: room for a large bearer token, four times over.
    package var fieldBytesMax: Int
    /// Bytes of content. No endpoint takes more; the largest is a token request.
    package var bodyBytesMax: Int
    /// Bytes of all chunk extensions of a body: work without payload, so next to nothing.
    package var chunkExtensionBytesMax: Int
    /// Chunks of a body: a sender of single bytes makes us work six bytes for each.
    package var chunksMax: Int
    /// Fields of a trailer section; they are checked and dropped.
    package var trailersMax: Int
    /// Bytes of all trailer lines with their ends.
    package var trailerBytesMax: Int

    package init(
        requestLineBytesMax: Int = 8_192,
        fieldsMax: Int = 100,
        fieldBytesMax: Int = 16_384,
        bodyBytesMax: Int = 65_536,
        chunkExtensionBytesMax: Int = 4_096,
        chunksMax: Int = 8_192,
        trailersMax: Int = 16,
        trailerBytesMax: Int = 4_096
    ) {
        self.requestLineBytesMax = requestLineBytesMax
        self.fieldsMax = fieldsMax
        self.fieldBytesMax = fieldBytesMax
        self.bodyBytesMax = bodyBytesMax
        self.chunkExtensionBytesMax = chunkExtensionBytesMax
        self.chunksMax = chunksMax
        self.trailersMax = trailersMax
        self.trailerBytesMax = trailerBytesMax
    }
}

enum Limits {
    /// Empty lines skipped ahead of a request line: one, for clients that end a body with a spare line (RFC 9112 §2.2).
    static let leadingEmptyLinesMax = 1
    /// Room for fields taken at once: the usual request has fewer.
    static let fieldsExpected = 16
    /// Bytes reserved for a body before they arrive: what a client merely announces costs nothing.
    static let bodyBytesReserved = 4_096
}
