import Primitives

/// What is in force in a session before its first statement of ours.
///
/// It is set by a statement and not by the startup packet, whose `options` PgBouncer refuses. Defaults of a role or database
/// (`ALTER ROLE … SET`) that would break our statements are set back; those that an operator's function may rest on,
/// such as `search_path` and `TimeZone`, stay: our own statements name schemas and travel in binary.
struct SessionSettings {
    let values: [String: String]

    /// The URL's own settings win, but for those that correctness rests on.
    init(_ configuration: DatabaseConfiguration, own: [String: String]) {
        var values = [
            "statement_timeout": String(configuration.statementTimeout.wholeMilliseconds),
            "lock_timeout": String(configuration.lockTimeout.wholeMilliseconds),
            "idle_in_transaction_session_timeout": String(configuration.idleInTransactionTimeout.wholeMilliseconds),
            // Connections rest in the pool, and a transaction is bounded by its statements.
            "idle_session_timeout": "0",
            "transaction_timeout": "0",
        ]
        for (name, value) in own { values[name.lowercased()] = value }
        // The races of refreshes are decided by rows that others have committed meanwhile.
        values["default_transaction_isolation"] = "read committed"
        values["default_transaction_deferrable"] = "off"
        values["standard_conforming_strings"] = "on"
        // Else the catalogue quotes the names of types too.
        values["quote_all_identifiers"] = "off"
        if configuration.isReadOnly { values["default_transaction_read_only"] = "on" }
        self.values = values
    }

    func call(deadline: ContinuousClock.Instant) -> Call {
        let names = values.keys.sorted()
        let parameters = Parameters(
            [.textArray(names), .textArray(names.map { values[$0] })], for: Self.statement)
        // Without a name: behind a transaction pooler the name may be taken already, and that pooler is to be found out.
        return Call(.unnamed(Self.statement, parameters), deadline: deadline)
    }

    /// PostgreSQL 17 has `transaction_timeout`, 14 `idle_session_timeout`; an unknown name is an error elsewhere.
    private static let statement = Statement(
        "session_settings",
        """
        SELECT pg_catalog.set_config(s.name, s.value, false) FROM unnest($1, $2) AS s (name, value)
        WHERE s.name NOT IN ('idle_session_timeout', 'transaction_timeout')
            OR pg_catalog.current_setting(s.name, true) IS NOT NULL
        """, [.textArray, .textArray])
}
