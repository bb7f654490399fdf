package import AuthDomain
package import Crypto
import Postgres
package import Primitives
package import Telemetry

/// The domain's stores on Postgres. Called on an event loop, it uses that loop's connections.
package final class PostgresStore: Sendable {
    let databases: LoopDatabases
    let identity: IdentityStatements
    let keys: any KeyringSource
    let sealing: KeyEncryptionKeys
    let random: any RandomSource
    let logger: Logger
    let unreadableRows: Metrics.Counter?

    package init(
        databases: LoopDatabases, mapping: IdentityMapping, catalog: IdentityCatalog, keys: any KeyringSource,
        sealing: KeyEncryptionKeys, random: any RandomSource, logger: Logger, metrics: Metrics? = nil
    ) {
        unreadableRows = metrics?.counter(Self.unreadableRows)
        self.databases = databases
        identity = IdentityStatements(mapping, catalog)
        self.keys = keys
        self.sealing = sealing
        self.random = random
        self.logger = logger
    }

    private static let unreadableRows = Metrics.Name(
        "sallyport_identity_unreadable_rows_total",
        help: "Rows of linked sessions that could not be read, counted at each look.")

    /// Contract section 3: such a session proves nothing fresh, and somebody has to look at the clocks.
    func notice(_ seen: SeenSession) {
        let ahead = seen.session.createdAt - seen.seenAt
        guard ahead > AuthDomain.Limits.clockSkew else { return }
        logger.throttled(
            .warning,
            "a session was made in the future: the clocks of the application and of this server differ",
            [LogField("identity.ahead_s", ahead.wholeSeconds)])
    }

    /// The operator's claims from one row `claims`; a function that fails, and anything but an object of at most 2 KiB,
    /// is our operator's fault and a 503, not a token without claims.
    func customClaims(_ pending: PendingRows) async throws(DatabaseError) -> CustomClaims {
        let rows: Rows
        do throws(DatabaseError) {
            rows = try await pending.rows()
        } catch {
            // The message of the database stays out: it may quote what the function has read.
            switch error {
            case .functionFailed(let sqlState):
                logger.throttled(
                    .error, "custom_claims failed", of: sqlState, [LogField("db.sqlstate", sqlState)])
            case .unavailable(.misconfigured):
                logger.throttled(.error, "custom_claims cannot be called, or misses what it needs")
            default: break
            }
            throw error
        }
        // SQL's NULL is no claim; JSON's null is no object.
        guard let text = try rows.first?.optionalText("claims") else { return .none }
        let claims: CustomClaims
        do throws(CustomClaims.Failure) {
            claims = try CustomClaims(json: Array(text.utf8))
        } catch {
            logger.throttled(
                .error, "custom_claims returned no object of at most 2 KiB", [LogField("reason", "\(error)")])
            throw .unavailable(.misconfigured)
        }
        if !claims.dropped.isEmpty {
            logger.throttled(
                .warning, "custom_claims returned reserved names",
                [LogField("dropped", claims.dropped.joined(separator: " "))])
        }
        return claims
    }
}
