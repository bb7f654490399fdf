/// What the chunks and trailers of a body have cost so far beside its content.
struct ChunkCosts: Sendable {
    var count = 0
    var extensionBytes = 0
    var trailerCount = 0
    var trailerBytes = 0
}

// Source: RFC 9112 §7.1.
extension RequestParser {
    /// - Returns: whether it got any further.
    mutating func readChunk() throws(HTTPParseError) -> Bool {
        switch state {
        case .chunkSize:
            return try readChunkSize()
        case .chunkData(let remaining):
            let left = takeContent(remaining)
            state = left > 0 ? .chunkData(remaining: left) : .chunkEnd
            return left == 0
        default:
            return try readChunkEnd()
        }
    }

    private mutating func readChunkSize() throws(HTTPParseError) -> Bool {
        messageStart = cursor
        let bytesMax = ChunkLine.digitsMax + limits.chunkExtensionBytesMax - chunks.extensionBytes
        let line = try readLine(bytesMax: bytesMax, tooLong: .bodyTooLarge, malformed: .malformed(.chunk))
        guard let line else { return false }
        let parsed = try chunkLine(line)
        chunks.count += 1
        chunks.extensionBytes += parsed.extensionBytes
        guard chunks.count <= limits.chunksMax, chunks.extensionBytes <= limits.chunkExtensionBytesMax,
            parsed.size <= UInt64(limits.bodyBytesMax - body.count)
        else { throw .bodyTooLarge }
        state = parsed.size == 0 ? .trailers : .chunkData(remaining: Int(parsed.size))
        return true
    }

    private func chunkLine(_ line: Range<Int>) throws(HTTPParseError) -> ChunkLine {
        let message = buffer.span.extracting(droppingFirst: messageStart)
        guard let parsed = ChunkLine(message, line) else { throw .malformed(.chunk) }
        return parsed
    }

    /// Exactly CR LF: anything else means that size and data disagree.
    private mutating func readChunkEnd() throws(HTTPParseError) -> Bool {
        let end = buffer[cursor...].prefix(2)
        guard end.elementsEqual("\r\n".utf8.prefix(end.count)) else { throw .malformed(.chunk) }
        guard end.count == 2 else { return false }
        cursor += 2
        searched = cursor
        state = .chunkSize
        return true
    }

    /// Trailers are checked as fields are and then dropped: none of them means anything here, and none may change
    /// what the head said (RFC 9110 §6.5.1).
    /// - Returns: `nil` when the line is not there yet, else whether it was the message's last.
    mutating func readTrailer() throws(HTTPParseError) -> Bool? {
        messageStart = cursor
        let bytesMax = limits.trailerBytesMax - chunks.trailerBytes - 2
        let line = try readLine(bytesMax: bytesMax, tooLong: .fieldsTooLarge, malformed: .malformed(.field))
        guard let line else { return nil }
        guard !line.isEmpty else { return true }
        chunks.trailerCount += 1
        chunks.trailerBytes += line.count + 2
        guard chunks.trailerCount <= limits.trailersMax else { throw .fieldsTooLarge }
        _ = try field(line)
        return false
    }
}
