/// Spreads pauses, so that servers that lost one database do not return to it together. Nothing secret depends on it,
/// so it needs no source of randomness: it starts from the hash of an instant, whose key differs in every process.
///
/// Source: Marsaglia, "Xorshift RNGs" (2003), the 64-bit triple 13, 7, 17.
struct Jitter {
    private var state: UInt64

    init(seed: Int = ContinuousClock.now.hashValue) {
        // Zero would stay zero.
        state = UInt64(truncatingIfNeeded: seed) | 1
    }

    /// 0..<1
    mutating func next() -> Double {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Double(state >> 11) / Double(UInt64(1) << 53)
    }
}
