import AuthDomain
package import Postgres

/// What a database is for; written by the first server that starts on it.
package enum DeploymentKind: String, Sendable {
    case test, production
}

/// The one row of `deployments`.
package struct Deployment: Equatable, Sendable {
    package let kind: DeploymentKind?
    package let isStandalone: Bool

    package static func read(from database: Database) async throws(DatabaseError) -> Deployment {
        guard let row = try await database.read(current).first else { throw .unavailable(.misconfigured) }
        let kind = try row.optionalText("kind")
        return Deployment(
            kind: kind == nil ? nil : try DeploymentKind(stored: kind ?? ""),
            isStandalone: try row.bool("is_standalone"))
    }

    /// Claims a database that nobody has claimed, and says what it is for afterwards.
    package static func claim(
        _ kind: DeploymentKind, in database: Database
    ) async throws(DatabaseError) -> Deployment {
        _ = try await database.write(claimUnclaimed, [.text(kind.rawValue)])
        return try await read(from: database)
    }

    private static let current = Statement(
        "deployment", "SELECT kind, is_standalone FROM sallyport.deployments")

    private static let claimUnclaimed = Statement(
        "claim_deployment", "UPDATE sallyport.deployments SET kind = $1 WHERE kind IS NULL", [.text])
}
