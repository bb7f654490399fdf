/// Where "now" comes from. The process's own is made in `SallyportServer`; a test target's can be moved.
package protocol WallClock: Sendable {
    func now() -> Timestamp
}

/// Where random bytes come from; the product's is a cryptographically secure generator.
package protocol RandomSource: Sendable {
    func bytes(_ count: Int) -> [UInt8]
}
