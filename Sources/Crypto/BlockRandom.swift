import Primitives

/// The system's random bytes, drawn by the block: for names that are unique and no secret, such as those of requests.
///
/// A draw costs several thousand instructions, however few bytes are wanted. Nothing is handed out twice. Keys and tokens
/// come from `SystemRandom` itself, which keeps nothing in memory.
package final class BlockRandom: RandomSource {
    private static let blockBytes = 1_024

    private let left = Locked<[UInt8]>([])

    package init() {}

    package func bytes(_ count: Int) -> [UInt8] {
        guard count <= Self.blockBytes else { return SystemRandom().bytes(count) }
        return left.withLock { left in
            if left.count < count { left = SystemRandom().bytes(Self.blockBytes) }
            let taken = Array(left.suffix(count))
            left.removeLast(count)
            return taken
        }
    }
}
