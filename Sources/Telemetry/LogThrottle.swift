import Primitives

/// When each kind of line was last written, and how often it has been left out since.
final class LogThrottle: Sendable {
    struct Kind: Hashable {
        let message: String
        let detail: String

        init(_ message: String, _ detail: String) {
            self.message = message
            self.detail = detail
        }
    }

    private struct Record {
        var writtenAt: Timestamp
        var leftOut = 0
    }

    private let records = Locked<[Kind: Record]>([:])

    /// - Returns: the occurrences that the line stands for, `nil` where it is left out.
    func admit(_ kind: Kind, at now: Timestamp) -> Int? {
        records.withLock { records in
            // A clock that was set back does not silence a kind.
            if let record = records[kind], now >= record.writtenAt, now - record.writtenAt < Limits.throttleInterval {
                records[kind]?.leftOut += 1
                return nil
            }
            let occurrences = (records[kind]?.leftOut ?? 0) + 1
            records[kind] = Record(writtenAt: now)
            return occurrences
        }
    }
}
