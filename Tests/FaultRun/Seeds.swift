import AuthTesting

/// What a fault run draws from the seeds of its parts. Threads make the order of a whole run their own; each device and
/// each relay makes the same choices in the same order.
extension SeededRandom {
    func chance(_ share: Double) -> Bool { number(in: 0...1) < share }

    func number(in range: ClosedRange<Double>) -> Double {
        range.lowerBound + (range.upperBound - range.lowerBound) * Double(next() >> 11) / Double(1 << 53)
    }
}
