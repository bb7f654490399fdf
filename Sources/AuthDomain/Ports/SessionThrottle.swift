/// How often one device session may ask.
///
/// It is asked once the token is proved and before anything is looked up: with a made-up token nobody uses up what is
/// another's.
package protocol SessionThrottle: Sendable {
    /// How long the session has to wait. `nil` when it may go on, and then this use has been counted.
    ///
    /// - Parameter sessionID: as `sid` says it.
    func wait(sessionID: String) -> Duration?
}

/// Lets everything pass.
package struct NoThrottle: SessionThrottle {
    package init() {}

    package func wait(sessionID: String) -> Duration? { nil }
}

extension SessionThrottle {
    func admit(_ sessionID: String) throws(AuthFailure) {
        if let wait = wait(sessionID: sessionID) { throw .limited(wait: wait) }
    }
}
