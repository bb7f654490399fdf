/// The buckets that are not full, in two halves: those used lately, and those used before that.
///
/// Every minute, or when the first half is full of keys, the halves turn and the older one is dropped at once: no sweep
/// ever. After a minute without a request a bucket is full and worth nothing, so the turn by time loses nothing. The turn
/// by number does: whoever fills the table has come from thousands of addresses, and no bucket of one stops that.
struct BucketTable<Key: Hashable & Sendable>: Sendable {
    private let keysMax: Int
    private var recent: [Key: Int64] = [:]
    private var earlier: [Key: Int64] = [:]
    private var turnedAt = Int64.min

    /// - Parameter keysMax: of each half.
    init(keysMax: Int) {
        self.keysMax = keysMax
    }

    var count: Int { recent.count + earlier.count }

    func fullAt(_ key: Key) -> Int64 {
        recent[key] ?? earlier[key] ?? .min
    }

    mutating func set(_ key: Key, fullAt: Int64, now: Int64) {
        if turnedAt == .min { turnedAt = now }
        if now - turnedAt >= RateLimit.fillNanoseconds || recent.count >= keysMax {
            earlier = recent
            recent = [:]
            turnedAt = now
        }
        recent[key] = fullAt
    }
}
