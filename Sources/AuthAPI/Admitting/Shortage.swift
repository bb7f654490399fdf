import AuthDomain
import Primitives

/// What there was not enough of for a request that was turned away before any work.
enum Shortage: String, Sendable, CaseIterable {
    /// The client's address has asked too often.
    case addressRate = "address_rate"
    /// The device session has.
    case sessionRate = "session_rate"
    /// The event loop works on all the requests that it takes.
    case concurrency
    /// The process has all the connections that it takes, or they hold all the bytes that may wait.
    case connections
}

extension APIFailure {
    init(_ shortage: Shortage, wait: Duration? = nil) {
        switch shortage {
        case .addressRate, .sessionRate: self.init(.rateLimited)
        case .concurrency, .connections: self.init(.unavailable(.busy))
        }
        self.shortage = shortage
        self.wait = wait
    }
}
