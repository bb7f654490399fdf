import Primitives

/// Replays of each device session since it last rotated, as far as this process has answered them: a client that cannot
/// store its tokens, or a second holder of them.
///
/// Bounded: the counts of the last full half are kept, those before are forgotten.
final class ReplayCounter: Sendable {
    private struct Count {
        let generation: Int64
        var replays: Int
    }

    private struct Halves {
        var newer: [UUID: Count] = [:]
        var older: [UUID: Count] = [:]
    }

    private let halves = Locked(Halves())

    /// Counts one more. Returns how many there were in a row, this one included.
    func count(of sessionID: UUID, generation: Int64) -> Int {
        halves.withLock { halves in
            var count = halves.newer[sessionID] ?? halves.older[sessionID]
            if count?.generation != generation { count = nil }
            let replays = (count?.replays ?? 0) + 1
            if halves.newer.count >= Limits.replaysRemembered, halves.newer[sessionID] == nil {
                halves = Halves(older: halves.newer)
            }
            halves.newer[sessionID] = Count(generation: generation, replays: replays)
            return replays
        }
    }
}
