/// Where "now" comes from. The process's own is made in `SallyportServer`; a test target's can be moved.
package protocol WallClock: Sendable {
    func now() -> Timestamp

    /// Whether something speaks against `now()`: nothing is ended, expired or deleted by it meanwhile.
    var isInDoubt: Bool { get }
}

extension WallClock {
    package var isInDoubt: Bool { false }
}

/// Where random bytes come from; the product's is a cryptographically secure generator.
package protocol RandomSource: Sendable {
    func bytes(_ count: Int) -> [UInt8]
}
