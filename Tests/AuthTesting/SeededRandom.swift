import Primitives

/// The same bytes for the same seed, in the order asked for: SplitMix64. A failing test names its seed.
package final class SeededRandom: RandomSource {
    private let state: Locked<UInt64>

    package init(seed: UInt64 = 1) {
        state = Locked(seed)
    }

    package func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            let word = next()
            for shift in stride(from: UInt64(0), to: 64, by: 8) where bytes.count < count {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return bytes
    }

    package func next() -> UInt64 {
        state.withLock { state in
            state &+= 0x9e37_79b9_7f4a_7c15
            var word = state
            word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
            word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
            return word ^ (word >> 31)
        }
    }

    package func number(in range: ClosedRange<Int64>) -> Int64 {
        range.lowerBound + Int64(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    package func chance(_ percent: Int64) -> Bool { number(in: 1...100) <= percent }

    /// - Precondition: not empty.
    package func element<Element>(of elements: [Element]) -> Element {
        elements[Int(number(in: 0...Int64(elements.count - 1)))]
    }
}

extension SeededRandom: RandomNumberGenerator {}
