package import Primitives

/// What one row of `device_sessions` says of its refresh tokens: everything that table 2.3 looks at.
package struct RotationState: Equatable, Sendable {
    /// The generation of the current refresh token.
    package let generation: Int64
    /// Of the last rotation; the start of the session before the first.
    package let rotatedAt: Timestamp
    /// Keyed hashes of the keys of the last eight rotations: the one of `generation - 1` first. `nil`: without a key.
    package let rotationKeys: [[UInt8]?]
    /// Whether any rotation of this device session, since it began, carried a key.
    package let hasSeenKey: Bool
    /// The absolute end.
    package let expiresAt: Timestamp
    /// Set once the device session has ended.
    package let end: RefusalReason?

    package init(
        generation: Int64, rotatedAt: Timestamp, rotationKeys: [[UInt8]?], hasSeenKey: Bool, expiresAt: Timestamp,
        end: RefusalReason?
    ) {
        self.generation = generation
        self.rotatedAt = rotatedAt
        self.rotationKeys = rotationKeys
        self.hasSeenKey = hasSeenKey
        self.expiresAt = expiresAt
        self.end = end
    }

    /// The key hash of the rotation that replaced `generation`, where it is still known and there was one.
    func key(thatRotated rotated: Int64) -> [UInt8]? {
        let index = generation - 1 - rotated
        guard index >= 0, index < rotationKeys.count else { return nil }
        return rotationKeys[Int(index)]
    }

    /// The keys as they are kept after a rotation from `presented` with `key` (nil: without).
    func keysAfterRotation(from presented: Int64, key: [UInt8]?) -> [[UInt8]?] {
        // After a catch-up the rotations in between are lost: nothing is known of their keys.
        let gap = max(0, min(presented - generation, Int64(Limits.rotationKeysKept)))
        let kept: [[UInt8]?] = [key] + [[UInt8]?](repeating: nil, count: Int(gap)) + rotationKeys
        return Array(kept.prefix(Limits.rotationKeysKept))
    }
}

/// How long a predecessor may still be answered.
package struct RotationWindows: Equatable, Sendable {
    /// Of the direct predecessor, where no rotation ever carried a key.
    package let replay: Duration
    /// Of the two last predecessors, for racing requests.
    package let concurrency: Duration

    package init(replay: Duration, concurrency: Duration) {
        self.replay = replay
        self.concurrency = concurrency
    }
}
