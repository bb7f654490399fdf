/// Whose request it is that wants to write.
package struct WriteOwner: Hashable, Sendable {
    package let userID: String
    /// The device's id, or its installation's where it is not registered yet.
    package let device: String?

    package init(userID: String, device: String?) {
        self.userID = userID
        self.device = device
    }
}

/// The turns of users at the write connections, so that the requests of one cannot take all of them. Contract section 6.
///
/// A turn is taken for one write and not for a whole request.
package protocol WriteTurns: Sendable {
    /// Returns once the owner may write; `end` is called for it then, on the same event loop.
    ///
    /// - Throws: `.limited` where too many requests of the user wait, `.unavailable(.busy)` where no turn came in time.
    func begin(_ owner: WriteOwner) async throws(AuthFailure)

    func end(_ owner: WriteOwner)
}

/// Lets everything pass.
package struct NoTurns: WriteTurns {
    package init() {}

    package func begin(_ owner: WriteOwner) async throws(AuthFailure) {}

    package func end(_ owner: WriteOwner) {}
}

extension WriteTurns {
    /// Calls a port that writes for this owner.
    func writing<Value>(
        _ owner: WriteOwner, _ body: () async throws(Unavailability) -> Value
    ) async throws(AuthFailure) -> Value {
        try await begin(owner)
        defer { end(owner) }
        return try await available(body)
    }
}
