import Primitives

/// The statements about the table of migrations.
enum MigrationSQL {
    /// The advisory lock on which runners take turns; the letters `sallypor` as a number. Advisory locks belong to one
    /// database: two products in one database must not share the number.
    static let lockKey: Int64 = 0x7361_6c6c_7970_6f72

    /// A migration may take long, and may wait long for its turn.
    static let settings = """
        SET statement_timeout = 0;
        SET idle_in_transaction_session_timeout = 0;
        SET lock_timeout = \(Limits.migrationTurnTimeout.wholeMilliseconds)
        """

    static let takeTurn = "SELECT pg_advisory_lock(\(lockKey))"

    static let lockTimeout = "SET lock_timeout = \(Limits.migrationLockTimeout.wholeMilliseconds)"

    static let createTable = """
        CREATE SCHEMA IF NOT EXISTS sallyport;
        CREATE TABLE IF NOT EXISTS sallyport.sallyport_migrations (
            name text NOT NULL,
            checksum bytea NOT NULL,
            applied_at timestamptz NOT NULL,
            CONSTRAINT sallyport_migrations_pkey PRIMARY KEY (name)
        );
        """

    static let findTable = Statement(
        "migrations_find_table", "SELECT to_regclass('sallyport.sallyport_migrations') IS NOT NULL AS is_there")

    static let list = Statement(
        "migrations_list", "SELECT name, checksum, applied_at FROM sallyport.sallyport_migrations ORDER BY name")

    static let record = Statement(
        "migrations_record",
        "INSERT INTO sallyport.sallyport_migrations (name, checksum, applied_at) VALUES ($1, $2, $3)",
        [.text, .bytes, .timestamp])
}

extension Rows {
    func appliedMigrations() throws(DatabaseError) -> [MigrationPlan.Applied] {
        var applied: [MigrationPlan.Applied] = []
        for row in self {
            applied.append(
                MigrationPlan.Applied(
                    name: try row.text("name"), checksum: try row.bytes("checksum"),
                    appliedAt: try row.timestamp("applied_at")))
        }
        return applied
    }
}
