/// How one loop talks to one database.
package struct DatabaseConfiguration: Sendable {
    /// Shows in `pg_stat_activity`; one per server instance. The URL's own name wins.
    package var applicationName: String
    /// Sessions that cannot write (`default_transaction_read_only`), on any host: for a store that is not ours.
    package var isReadOnly = false

    /// The server ends a statement after this time. Shorter than `queryDeadline`, so that the connection survives.
    package var statementTimeout: Duration = .milliseconds(2_500)
    package var lockTimeout: Duration = .seconds(1)
    package var idleInTransactionTimeout: Duration = .seconds(10)

    /// Of one attempt at one host.
    package var connectTimeout: Duration = .seconds(2)
    /// Sent bytes that are not acknowledged for so long end the connection.
    package var acknowledgementTimeout: Duration = .seconds(10)
    package var keepaliveIdle: Duration = .seconds(5)
    package var keepaliveInterval: Duration = .seconds(2)
    package var keepaliveProbes = 3

    /// Pipelined connections for reads on this loop: two keep a slow statement from delaying all reads.
    package var readConnectionsMax = 2
    /// Connections for writes and transactions on this loop.
    package var exclusiveConnectionsMax = 4
    /// From the call to the rows. When it strikes, the connection is dropped. An answer is promised within 3 s: what is
    /// left is for the way to the client.
    package var queryDeadline: Duration = .milliseconds(2_800)
    /// How long a write waits for a connection.
    package var poolWait: Duration = .seconds(1)

    package init(applicationName: String) {
        self.applicationName = applicationName
    }
}
