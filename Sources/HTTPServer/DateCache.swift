import Primitives

/// The value of `Date`, rendered once a second.
struct DateCache {
    private let clock: any WallClock
    private var second: Int64?
    private var text: [UInt8] = []

    init(clock: any WallClock) {
        self.clock = clock
    }

    mutating func current() -> [UInt8] {
        let now = clock.now()
        if second != now.secondsSinceEpoch {
            second = now.secondsSinceEpoch
            text = Array(now.httpDate.utf8)
        }
        return text
    }
}
