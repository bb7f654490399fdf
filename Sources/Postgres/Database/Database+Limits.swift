extension Database {
    /// How many connections our role may have to this database; `nil` without a limit.
    package func connectionLimit() async throws(DatabaseError) -> Int? {
        try await read(Self.limits).first?.optionalInt64("connections").map { Int(clamping: $0) }
    }

    private static let limits = Statement(
        "connection_limits",
        """
        SELECT least(nullif(r.rolconnlimit, -1), nullif(d.datconnlimit, -1))::bigint AS connections
        FROM pg_catalog.pg_roles r, pg_catalog.pg_database d
        WHERE r.rolname = session_user AND NOT r.rolsuper AND d.datname = current_database()
        """)
}
