extension RequestParser {
    /// - Returns: whether it got any further.
    mutating func readRequestLine(_ emptyLinesSkipped: Int) throws(HTTPParseError) -> Bool {
        guard cursor < buffer.count else { return false }
        // The first bytes are judged at once: a stream that is no HTTP at all (TLS, say) shall not wait for its line.
        let isEmptyLine = buffer[cursor] == UInt8(ascii: "\r")
        guard isEmptyLine || ByteSet.token.contains(buffer[cursor]) else { throw .malformed(.requestLine) }
        if isEmptyLine {
            guard emptyLinesSkipped < Limits.leadingEmptyLinesMax else { throw .malformed(.requestLine) }
            guard cursor + 1 < buffer.count else { return false }
            guard buffer[cursor + 1] == UInt8(ascii: "\n") else { throw .malformed(.requestLine) }
            cursor += 2
            searched = cursor
            messageStart = cursor
            state = .requestLine(emptyLinesSkipped: emptyLinesSkipped + 1)
            return true
        }
        let line = try readLine(
            bytesMax: limits.requestLineBytesMax, tooLong: .targetTooLong, malformed: .malformed(.requestLine))
        guard let line else { return false }
        requestLine = try RequestLine(buffer.span.extracting(droppingFirst: messageStart), line)
        entries = []
        entries.reserveCapacity(Limits.fieldsExpected)
        known = KnownFields()
        state = .fields
        return true
    }

    /// - Returns: `nil` when the line is not there yet, else whether it was the head's last.
    mutating func readField() throws(HTTPParseError) -> Bool? {
        let used = cursor - messageStart - (requestLine?.bytes ?? 0)
        let line = try readLine(
            bytesMax: limits.fieldBytesMax - used - 2, tooLong: .fieldsTooLarge, malformed: .malformed(.field))
        guard let line else { return nil }
        guard !line.isEmpty else { return true }
        guard entries.count < limits.fieldsMax else { throw .fieldsTooLarge }
        let entry = try field(line)
        known = try noted(entry)
        entries.append(entry)
        return false
    }

    // The two that hold a span are not mutating: a span of the buffer borrows the whole parser.
    func field(_ line: Range<Int>) throws(HTTPParseError) -> HTTPFields.Entry {
        let message = buffer.span.extracting(droppingFirst: messageStart)
        guard let entry = FieldLine.parse(message, line) else { throw .malformed(.field) }
        return entry
    }

    private func noted(_ entry: HTTPFields.Entry) throws(HTTPParseError) -> KnownFields {
        var known = known
        try known.note(buffer.span.extracting(droppingFirst: messageStart), entry)
        return known
    }

    /// A head that announces too much content is good in itself: it is handed out, so that its refusal can be made for whoever
    /// sent it, and the failure follows.
    mutating func finishHead() throws(HTTPParseError) -> RequestHead {
        guard let line = requestLine else { throw .malformed(.requestLine) }
        // RFC 9112 §3.2: a 1.1 request without Host → 400.
        guard known.host != nil || line.version == .http10 else { throw .malformed(.host) }
        let framing = try announcedFraming(line.version)
        let expectsContinue = try known.expectsContinue(line.version, framing ?? .none)
        let bytes = takeHeadBytes()
        if let authority = line.target.authority, let host = known.host {
            // RFC 9112 §3.2.2 gives the target precedence; a proxy may have routed by the field. Equal or refused.
            guard areEqualIgnoringCase(bytes[authority], bytes[host]) else { throw .malformed(.host) }
        }
        let head = RequestHead(
            method: HTTPMethod(tested: String(decoding: bytes[line.method], as: UTF8.self)),
            target: RequestTarget(bytes: bytes, layout: line.target),
            version: line.version,
            fields: HTTPFields(bytes: bytes, entries: entries),
            framing: framing ?? .none,
            keepsConnection: known.keepsConnection(line.version),
            expectsContinue: expectsContinue)
        requestLine = nil
        entries = []
        if let framing { beginContent(framing) } else { state = .failed(.bodyTooLarge) }
        return head
    }

    /// `nil` when it is more than is taken.
    private func announcedFraming(_ version: HTTPVersion) throws(HTTPParseError) -> RequestHead.Framing? {
        do throws(HTTPParseError) {
            return try known.framing(version, bodyBytesMax: limits.bodyBytesMax)
        } catch {
            guard error == .bodyTooLarge else { throw error }
            return nil
        }
    }

    /// The head's bytes: the buffer itself where they are all that it holds.
    private mutating func takeHeadBytes() -> [UInt8] {
        guard messageStart == 0, cursor == buffer.count else { return Array(buffer[messageStart..<cursor]) }
        let bytes = buffer
        buffer = []
        cursor = 0
        searched = 0
        return bytes
    }

    private mutating func beginContent(_ framing: RequestHead.Framing) {
        messageStart = cursor
        switch framing {
        case .none:
            state = .content(remaining: 0)
        case .length(let count):
            body.reserveCapacity(min(count, Limits.bodyBytesReserved))
            state = .content(remaining: count)
        case .chunked:
            state = .chunkSize
        }
    }
}
