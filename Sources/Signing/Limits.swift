/// What the signer may use at most.
package enum Limits {
    /// Signatures that wait on one loop. At 0.4 ms each this is a fifth of a second: whoever comes later is told `busy`
    /// at once, which is sooner than the answer would be.
    package static let pendingSignaturesMax = 512
}
