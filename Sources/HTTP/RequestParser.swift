import Glibc

/// HTTP/1.1 requests out of a stream of bytes: a state machine without I/O.
///
/// ```text
/// append "POST /a HTTP/1.1\r\nHost: a.example\r\nContent-Le"     next → needMore
/// append "ngth: 2\r\n\r\nokGET /b"                              next → head(POST /a, length 2)
///                                                              next → end(body "ok")
///                                                              next → needMore
/// ```
/// The events are the same for every way to cut the stream. Nothing behind a message's end is looked at before its
/// `end` was handed out, and nothing at all after `failed`. Each check takes the strict side of RFC 9112: what two
/// readers could understand differently is refused.
///
/// A head that fills the buffer takes it along instead of a copy, so a connection at rest holds no buffer.
package struct RequestParser: Sendable {
    package enum Event: Sendable {
        case needMore
        /// A head, whole and checked. `end` or `failed` follows, after `needMore` where the content is not there yet.
        case head(RequestHead)
        /// The message's end, with its content; trailers are dropped.
        case end(body: [UInt8])
        /// The stream is no use any more: each further call gives the same.
        case failed(HTTPParseError)
    }

    enum State: Sendable {
        case requestLine(emptyLinesSkipped: Int)
        case fields
        case content(remaining: Int)
        case chunkSize
        case chunkData(remaining: Int)
        case chunkEnd
        case trailers
        case failed(HTTPParseError)
    }

    let limits: HTTPLimits
    var state = State.requestLine(emptyLinesSkipped: 0)
    var buffer: [UInt8] = []
    /// Where the current head begins in `buffer`. All offsets in `line`, `entries` and `known` count from there.
    var messageStart = 0
    /// The first byte that is not used up: where the current line or piece of content begins.
    var cursor = 0
    /// Up to here the current line was searched for its end.
    var searched = 0

    var requestLine: RequestLine?
    var entries: [HTTPFields.Entry] = []
    var known = KnownFields()
    var body: [UInt8] = []
    var chunks = ChunkCosts()

    package init(limits: HTTPLimits = HTTPLimits()) {
        self.limits = limits
    }

    /// Whether a message has begun and not ended: an end of the stream would cut it.
    package var isInsideMessage: Bool {
        if case .requestLine(emptyLinesSkipped: 0) = state { return cursor < buffer.count }
        return true
    }

    /// Whether bytes are there that no event was made of: within a message the beginning of its content, behind its
    /// end the next one's.
    package var hasPendingBytes: Bool { cursor < buffer.count || !body.isEmpty }

    /// Bytes of heap in use for a message that has not ended.
    package var heldBytes: Int {
        buffer.capacity + body.capacity + entries.capacity * MemoryLayout<HTTPFields.Entry>.stride
    }

    /// Takes bytes that arrived. They are copied.
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        dropUsedBytes()
        buffer.append(contentsOf: bytes)
    }

    package mutating func append(_ bytes: some Collection<UInt8>) {
        dropUsedBytes()
        buffer.append(contentsOf: bytes)
    }

    /// The next event of what was appended so far. Call it until it says `needMore`.
    package mutating func next() -> Event {
        do throws(HTTPParseError) {
            while true {
                switch state {
                case .requestLine(let emptyLinesSkipped):
                    guard try readRequestLine(emptyLinesSkipped) else { return .needMore }
                case .fields:
                    guard let isComplete = try readField() else { return .needMore }
                    if isComplete { return .head(try finishHead()) }
                case .content(let remaining):
                    let left = takeContent(remaining)
                    state = .content(remaining: left)
                    return left > 0 ? .needMore : finishMessage()
                case .chunkSize, .chunkData, .chunkEnd:
                    guard try readChunk() else { return .needMore }
                case .trailers:
                    guard let isComplete = try readTrailer() else { return .needMore }
                    if isComplete { return finishMessage() }
                case .failed(let error):
                    return .failed(error)
                }
            }
        } catch {
            state = .failed(error)
            return .failed(error)
        }
    }

    /// Moves up to `remaining` bytes into the body.
    ///
    /// - Returns: how many are missing.
    mutating func takeContent(_ remaining: Int) -> Int {
        let count = min(remaining, buffer.count - cursor)
        body.append(contentsOf: buffer[cursor..<cursor + count])
        cursor += count
        searched = cursor
        return remaining - count
    }

    private mutating func finishMessage() -> Event {
        let content = body
        body = []
        chunks = ChunkCosts()
        beginMessage()
        return .end(body: content)
    }

    mutating func beginMessage() {
        state = .requestLine(emptyLinesSkipped: 0)
        messageStart = cursor
    }

    private mutating func dropUsedBytes() {
        let used = if case .fields = state { messageStart } else { cursor }
        guard used > 0 else { return }
        if used == buffer.count {
            buffer.removeAll(keepingCapacity: true)
        } else {
            buffer.removeSubrange(..<used)
        }
        messageStart = max(0, messageStart - used)
        cursor -= used
        searched -= used
    }
}

extension RequestParser {
    /// Looks for the end of the line at `cursor` and steps over it.
    ///
    /// The length is judged before anything in the line is, and by the same rule whether its end is there or not: so
    /// the verdict does not depend on how the stream was cut.
    /// - Returns: the line without its end, counted from `messageStart`, or `nil` when the end is not there yet.
    mutating func readLine(
        bytesMax: Int, tooLong: HTTPParseError, malformed: HTTPParseError
    ) throws(HTTPParseError) -> Range<Int>? {
        guard let end = lineFeed(from: searched) else {
            searched = buffer.count
            if searched - cursor > bytesMax + 1 { throw tooLong }
            return nil
        }
        guard end - cursor - 1 <= bytesMax else { throw tooLong }
        // RFC 9112 §2.2 lets a server take a bare LF as an end. Others do not: what follows would be a matter of taste.
        guard end > cursor, buffer[end - 1] == UInt8(ascii: "\r") else { throw malformed }
        let line = cursor - messageStart..<end - 1 - messageStart
        cursor = end + 1
        searched = cursor
        return line
    }

    private func lineFeed(from start: Int) -> Int? {
        // SAFETY: the pointers live for the closure alone; memchr stays inside the buffer's count.
        buffer.withUnsafeBytes { bytes in
            guard start < bytes.count, let base = bytes.baseAddress,
                let found = memchr(base + start, Int32(UInt8(ascii: "\n")), bytes.count - start)
            else { return nil }
            return base.distance(to: UnsafeRawPointer(found))
        }
    }
}
