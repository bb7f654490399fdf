/// Both directions of one Postgres connection (frontend/backend protocol 3.0, PostgreSQL documentation §55.7):
///
///     startup, and requests for encryption   Int32 length | Int32 code | …
///     every later message                    Byte1 kind   | Int32 length without the kind | …
///
/// A write in an exchange of its own is committed when the server sends ReadyForQuery with the state `I`; the tag that
/// comes before it is sent with it. So the exchange is held together until then, and lost as a whole or not at all.
struct PostgresExchange: RelayProtocol {
    private var client: [UInt8] = []
    private var server: [UInt8] = []
    private var isStarted = false
    /// Encryption was asked for: the answer is one byte without a head.
    private var awaitsByte = false
    /// Texts that write, by the name of their statement or portal.
    private var writingStatements: Set<[UInt8]> = []
    private var writingPortals: Set<[UInt8]> = []
    /// Whether the exchange that is being sent writes, and those that were sent and are not answered yet.
    private var isWriting = false
    private var exchanges: [Bool] = []
    private var held: [UInt8] = []
    private var hasFailed = false

    mutating func fromClient(_ bytes: [UInt8]) -> [RelayedMessage] {
        client += bytes
        var messages: [RelayedMessage] = []
        while let message = isStarted ? Self.take(from: &client, headed: true) : takeStartup() {
            messages.append(RelayedMessage(bytes: message, meaning: isStarted ? follow(message) : .other))
            if !isStarted, !awaitsByte { isStarted = true }
        }
        return messages
    }

    mutating func fromServer(_ bytes: [UInt8]) -> [RelayedMessage] {
        server += bytes
        var messages: [RelayedMessage] = []
        if awaitsByte, !server.isEmpty {
            awaitsByte = false
            messages.append(RelayedMessage(bytes: [server.removeFirst()], meaning: .other))
        }
        while let message = Self.take(from: &server, headed: true) { messages += answer(message) }
        return messages
    }

    mutating func endOfServer() -> [RelayedMessage] {
        defer { (held, server) = ([], []) }
        return held.isEmpty && server.isEmpty ? [] : [RelayedMessage(bytes: held + server, meaning: .other)]
    }

    /// SSLRequest and GSSENCRequest, CancelRequest, StartupMessage.
    private mutating func takeStartup() -> [UInt8]? {
        guard let message = Self.take(from: &client, headed: false), message.count >= 8 else { return nil }
        awaitsByte =
            Array(message[4..<8]) == [0x04, 0xd2, 0x16, 0x2f] || Array(message[4..<8]) == [0x04, 0xd2, 0x16, 0x30]
        return message
    }

    private mutating func follow(_ message: [UInt8]) -> RelayedMessage.Meaning {
        let words = message.dropFirst(5).split(separator: 0, maxSplits: 2, omittingEmptySubsequences: false).map(
            Array.init)
        switch message[0] {
        case UInt8(ascii: "Q"):
            let writes = Self.writes(words.first ?? [])
            exchanges.append(writes)
            return writes ? .work : .other
        case UInt8(ascii: "P") where words.count > 1:
            if Self.writes(words[1]) { writingStatements.insert(words[0]) } else { writingStatements.remove(words[0]) }
        case UInt8(ascii: "B") where words.count > 1:
            if writingStatements.contains(words[1]) {
                writingPortals.insert(words[0])
            } else {
                writingPortals.remove(words[0])
            }
        case UInt8(ascii: "E") where writingPortals.contains(words.first ?? []):
            isWriting = true
            return .work
        case UInt8(ascii: "S"):
            exchanges.append(isWriting)
            isWriting = false
        default: break
        }
        return .other
    }

    private mutating func answer(_ message: [UInt8]) -> [RelayedMessage] {
        guard exchanges.first ?? false else {
            // The first ReadyForQuery of a connection ends its start and no exchange.
            if message[0] == UInt8(ascii: "Z"), !exchanges.isEmpty { exchanges.removeFirst() }
            return [RelayedMessage(bytes: message, meaning: .other)]
        }
        held += message
        if message[0] == UInt8(ascii: "E") { hasFailed = true }
        guard message[0] == UInt8(ascii: "Z") else { return [] }
        defer { (held, hasFailed) = ([], false) }
        exchanges.removeFirst()
        let isCommitted = !hasFailed && message.last == UInt8(ascii: "I")
        return [RelayedMessage(bytes: held, meaning: isCommitted ? .done : .other)]
    }

    private static func take(from buffer: inout [UInt8], headed: Bool) -> [UInt8]? {
        let start = headed ? 1 : 0
        guard buffer.count >= start + 4 else { return nil }
        let length = buffer[start..<(start + 4)].reduce(0) { $0 << 8 | Int($1) }
        guard length >= 4, buffer.count >= start + length else { return nil }
        defer { buffer.removeFirst(start + length) }
        return Array(buffer.prefix(start + length))
    }

    private static func writes(_ text: [UInt8]) -> Bool {
        let words = String(decoding: text, as: UTF8.self).uppercased().split { !$0.isLetter }
        return words.contains { ["COMMIT", "UPDATE", "INSERT", "DELETE"].contains($0) }
            // A lock for an update is none.
            && !(words.contains("SELECT") && words.contains("FOR") && !words.contains("SET")
                && !words.contains("INSERT"))
    }
}
