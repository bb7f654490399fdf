package import Primitives

/// A verdict on a credential, with what is known of its owner.
package struct Refusal: Error, Equatable, Sendable {
    package let reason: RefusalReason
    package let action: ClientAction
    package var sessionID: String?
    package var deviceID: UUID?
    /// Compact JWS `verdict+jwt`; set where the action is lock or wipe.
    package var proof: String?

    package init(
        _ reason: RefusalReason, action: ClientAction, sessionID: String? = nil, deviceID: UUID? = nil,
        proof: String? = nil
    ) {
        self.reason = reason
        self.action = action
        self.sessionID = sessionID
        self.deviceID = deviceID
        self.proof = proof
    }
}

/// "Could not find out", which is never a verdict: the answer is 503.
package enum Unavailability: String, Error, Sendable, CaseIterable {
    /// Contention or overload: the same request may pass at once.
    case busy
    /// Something we need does not answer.
    case dependency
    /// A table, a right or an operator's function is not as it must be; also 503, and readiness turns red.
    case misconfigured
    case starting
    case stopping
}

/// A request that cannot be understood; nothing was looked up or changed.
package enum RequestFault: Error, Equatable, Sendable {
    case scopeInvalid
    /// A device header or member that breaks its rule; the name is ours, not the client's text.
    case deviceMalformed(field: String)
    case idempotencyKeyMalformed
}

/// How a domain operation fails. Refused may end a session, unavailable never does.
package enum AuthFailure: Error, Equatable, Sendable {
    case refused(Refusal)
    case unavailable(Unavailability)
    case invalid(RequestFault)
    /// The device session asks too often; never a verdict.
    case limited(wait: Duration)
    /// The user has too many devices, and none of them may give way before this time has passed; never a verdict.
    case devicesFull(wait: Duration)
    /// Another user's or nobody's.
    case notFound
}

/// Calls a port, whose only error is "could not find out", from an operation that can also refuse.
func available<Value>(
    _ body: () async throws(Unavailability) -> Value
) async throws(AuthFailure) -> Value {
    do throws(Unavailability) { return try await body() } catch { throw .unavailable(error) }
}
