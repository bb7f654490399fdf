/// Why a reactor object could not be made.
package enum ReactorError: Error, Equatable, Sendable {
    case addressInUse(SocketAddress)
    /// The address cannot be bound here: no such interface, or no right to a low port.
    case addressNotAvailable(SocketAddress)
    case failed(call: String, errno: Int32)
}

/// How a stream ended other than by the peer's orderly end.
package enum SocketError: Error, Equatable, Sendable {
    case timedOut
    case reset
    /// Closed on this side.
    case closed
    case failed(Int32)
}
