import Primitives

/// What libpq's message says about a connection that did not come about.
///
/// libpq keeps no SQLSTATE for these, but with the verbosity `PQERRORS_VERBOSE` the message holds it:
///
///     connection to server at "127.0.0.1", port 5432 failed: FATAL:  28P01: password authentication failed for user "a"
///     LOCATION:  auth_failed, auth.c:326
struct ConnectFailure {
    let message: String

    /// - Parameter secrets: texts that are taken out of the message, wherever they stand.
    func fault(hiding secrets: [String]) -> DatabaseFault {
        let sentence = sentence(hiding: secrets)
        return DatabaseFault(
            reason, sentence.isEmpty ? "the connection failed" : sentence,
            advice: ConnectionAdvice.advice(sqlState, message))
    }

    var reason: Unavailability {
        if let state = sqlState {
            guard case .unavailable(let reason) = state.error(subject: "") else { return .dependency }
            return reason
        }
        // libpq's own words when the host does not fit `target_session_attrs`.
        if message.holds("read-only") || message.holds("hot standby") { return .readOnly }
        return .dependency
    }

    /// One line, each cause once: with `sslmode=prefer` libpq tries with TLS and without, and tells both.
    private func sentence(hiding secrets: [String]) -> String {
        var lines: [String] = []
        for line in message.split(whereSeparator: \.isNewline) where !line.hasPrefix("LOCATION:") {
            let printable = line.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7f }
            let words = String(String.UnicodeScalarView(printable)).split(separator: " ")
            let text = words.joined(separator: " ").hiding(secrets)
            if !lines.contains(text) { lines.append(text) }
        }
        return String(lines.joined(separator: "; ").prefix(Limits.faultCharactersMax))
    }

    /// Two blanks stand between the severity, which is translated, and the code.
    var sqlState: SQLState? {
        let bytes = Array(message.utf8)
        let mark = Array(":  ".utf8)
        var found: SQLState?
        var index = 0
        while index + mark.count + 5 <= bytes.count {
            let code = bytes[(index + mark.count)..<(index + mark.count + 5)]
            if bytes[index..<(index + mark.count)].elementsEqual(mark), code.allSatisfy(Self.isCodeCharacter),
                index + mark.count + 5 == bytes.count || !Self.isCodeCharacter(bytes[index + mark.count + 5])
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

extension String {
    /// Every occurrence of each text replaced.
    func hiding(_ secrets: [String]) -> String {
        secrets.filter { !$0.isEmpty }.reduce(self) { text, secret in
            let (bytes, hidden) = (Array(text.utf8), Array(secret.utf8))
            var kept: [UInt8] = []
            var index = 0
            while index < bytes.count {
                if bytes[index...].starts(with: hidden) {
                    kept += Array("[redacted]".utf8)
                    index += hidden.count
                } else {
                    kept.append(bytes[index])
                    index += 1
                }
            }
            return String(decoding: kept, as: UTF8.self)
        }
    }
}
