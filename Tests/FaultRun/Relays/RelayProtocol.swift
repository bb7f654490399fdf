/// A whole message that a relay passes on, loses or cuts.
struct RelayedMessage: Equatable, Sendable {
    enum Meaning: Equatable, Sendable {
        /// Passed on in every mode that passes anything on.
        case other
        /// What makes the server do the work: an HTTP request; a Postgres message that starts a write or a commit.
        case work
        /// What tells that the work is done: an HTTP answer; the end of a Postgres exchange that has written.
        case done
    }

    let bytes: [UInt8]
    let meaning: Meaning
}

/// Cuts the two byte streams of one connection into messages. Fed in the order of arrival; keeps what is incomplete.
protocol RelayProtocol {
    mutating func fromClient(_ bytes: [UInt8]) -> [RelayedMessage]
    mutating func fromServer(_ bytes: [UInt8]) -> [RelayedMessage]
    /// What is left when the server has finished: an answer that ends with its connection.
    mutating func endOfServer() -> [RelayedMessage]
}

/// HTTP/1.1 with `Content-Length`, or with a body up to the end of the connection: all that a server here answers.
struct HTTPExchange: RelayProtocol {
    private var request: [UInt8] = []
    private var answer: [UInt8] = []

    mutating func fromClient(_ bytes: [UInt8]) -> [RelayedMessage] {
        request += bytes
        return Self.takeMessages(of: &request, lengthDefault: 0).map { RelayedMessage(bytes: $0, meaning: .work) }
    }

    mutating func fromServer(_ bytes: [UInt8]) -> [RelayedMessage] {
        answer += bytes
        return Self.takeMessages(of: &answer, lengthDefault: .max).map { RelayedMessage(bytes: $0, meaning: .done) }
    }

    mutating func endOfServer() -> [RelayedMessage] {
        defer { answer = [] }
        return answer.isEmpty ? [] : [RelayedMessage(bytes: answer, meaning: .done)]
    }

    private static func takeMessages(of buffer: inout [UInt8], lengthDefault: Int) -> [[UInt8]] {
        var messages: [[UInt8]] = []
        while let head = buffer.firstRange(of: Array("\r\n\r\n".utf8)) {
            let text = String(decoding: buffer[..<head.lowerBound], as: UTF8.self).lowercased()
            let hasNoBody = ["http/1.1 204", "http/1.1 304", "http/1.1 1"].contains { text.hasPrefix($0) }
            let length =
                hasNoBody
                ? 0
                : text.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
                    .flatMap { Int($0.split(separator: ":")[1].filter { $0 != " " }) } ?? lengthDefault
            guard length != .max, buffer.count - head.upperBound >= length else { break }
            messages.append(Array(buffer.prefix(head.upperBound + length)))
            buffer.removeFirst(head.upperBound + length)
        }
        return messages
    }
}
