import Primitives

/// How far a reader of the feed has come: the snapshot of its last read. What a snapshot did not see is new, in whatever
/// order transactions commit, so that nothing is missed and nothing comes twice.
///
/// ```text
/// 7427…-1/700:712:700,705//0        base64url of: the database, what was seen, nothing left over
/// 7427…-1/700:712:/730:735:/5021    a page was full: of what 730:735: sees and 700:712: does not, id 5021 was the last
/// ```
/// A text from outside: checked to the letter, since Postgres takes no other for a `pg_snapshot`.
struct RevocationCursor: Equatable {
    /// System identifier and timeline: after a failover or a restore the numbers of transactions mean something else.
    let database: String
    let seen: Snapshot?
    /// While pages are left of one read.
    let reading: Snapshot?
    let lastID: Int64

    init(database: String, seen: Snapshot?, reading: Snapshot? = nil, lastID: Int64 = 0) {
        self.database = database
        self.seen = seen
        self.reading = reading
        self.lastID = lastID
    }

    init?(_ text: String) {
        guard text.utf8.count <= 16_384, let bytes = Base64URL.decode(text) else { return nil }
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 4, !parts[0].isEmpty, let lastID = Int64(parts[3]), lastID >= 0 else { return nil }
        let snapshots = parts[1...2].map { Snapshot(String($0)) }
        guard zip(parts[1...2], snapshots).allSatisfy({ $0.isEmpty || $1 != nil }) else { return nil }
        guard snapshots[0] != nil || snapshots[1] != nil else { return nil }
        self.init(database: String(parts[0]), seen: snapshots[0], reading: snapshots[1], lastID: lastID)
    }

    var text: String {
        Base64URL.encode(Array("\(database)/\(seen?.text ?? "")/\(reading?.text ?? "")/\(lastID)".utf8))
    }

    /// `xmin:xmax:xip,…`, as Postgres writes it.
    struct Snapshot: Equatable {
        let text: String
        let end: Int64

        init?(_ text: String) {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count == 3, let begin = Int64(parts[0]), let end = Int64(parts[1]), begin > 0, begin <= end
            else {
                return nil
            }
            let running = parts[2].isEmpty ? [] : parts[2].split(separator: ",", omittingEmptySubsequences: false)
            var previous = begin - 1
            for number in running {
                guard let number = Int64(number), number > previous, number < end else { return nil }
                previous = number
            }
            guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x3a || $0 == 0x2c }) else { return nil }
            self.text = text
            self.end = end
        }
    }
}
