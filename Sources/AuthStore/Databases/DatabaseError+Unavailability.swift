package import AuthDomain
import Postgres

/// In this module the word means the domain's: what a request is told.
package typealias Unavailability = AuthDomain.Unavailability

extension DatabaseError {
    /// What a database error means for whoever asked; a row that should have been there is never "no".
    var unavailability: Unavailability {
        switch self {
        case .unavailable(.busy), .unavailable(.contention): .busy
        case .unavailable(.starting): .starting
        case .unavailable(.closed): .stopping
        case .unavailable(.misconfigured), .functionFailed, .checkFailed: .misconfigured
        case .unavailable(.dependency), .unavailable(.exhausted), .unavailable(.readOnly),
            .unavailable(.outcomeUnknown):
            .dependency
        // Two requests made the same row: the loser looks again and finds the winner's.
        case .conflict, .missingReference: .busy
        }
    }
}

/// Runs database calls of a port, whose only error is "could not find out".
func reading<Value>(
    _ body: () async throws(DatabaseError) -> Value
) async throws(Unavailability) -> Value {
    do throws(DatabaseError) { return try await body() } catch { throw error.unavailability }
}
