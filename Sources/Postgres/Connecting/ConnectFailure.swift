import Primitives

/// What libpq's message says about a connection that did not come about.
///
/// libpq keeps no SQLSTATE for these, but with the verbosity `PQERRORS_SQLSTATE` the message ends with it:
///
///     connection to server at "127.0.0.1", port 5432 failed: FATAL:  28P01
enum ConnectFailure {
    static func reason(_ message: String) -> Unavailability {
        if let state = sqlState(in: message) {
            guard case .unavailable(let reason) = state.error(subject: "") else { return .dependency }
            return reason
        }
        // libpq's own words when the host does not fit `target_session_attrs`.
        if message.holds("read-only") || message.holds("hot standby") { return .readOnly }
        return .dependency
    }

    /// Two blanks stand between the severity, which is translated, and the code.
    private static func sqlState(in message: String) -> SQLState? {
        let bytes = Array(message.utf8)
        let mark = Array(":  ".utf8)
        var found: SQLState?
        var index = 0
        while index + mark.count + 5 <= bytes.count {
            let code = bytes[(index + mark.count)..<(index + mark.count + 5)]
            if bytes[index..<(index + mark.count)].elementsEqual(mark), code.allSatisfy(isCodeCharacter),
                index + mark.count + 5 == bytes.count || !isCodeCharacter(bytes[index + mark.count + 5])
            {
                found = SQLState(String(decoding: code, as: UTF8.self))
            }
            index += 1
        }
        return found
    }

    private static func isCodeCharacter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }
}
