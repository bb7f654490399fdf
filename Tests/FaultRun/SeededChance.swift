import Primitives

/// Every random choice of a run: the same seed makes the same choices, in the order that threads ask.
package enum SeededChance {
    private static let state = Locked<UInt64>(1)

    package static func seed(_ value: UInt64) { state.withLock { $0 = value } }

    static func happens(_ share: Double) -> Bool { number(in: 0...1) < share }

    static func number(in range: ClosedRange<Double>) -> Double {
        range.lowerBound + (range.upperBound - range.lowerBound) * Double(next() >> 11) / Double(1 << 53)
    }

    static func count(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.count))
    }

    /// SplitMix64.
    private static func next() -> UInt64 {
        state.withLock { state in
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }
    }
}
