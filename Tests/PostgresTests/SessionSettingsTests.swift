import AuthTesting
import Postgres
import Primitives
import Testing

@Suite("Settings of a session")
struct SessionSettingsTests {
    private static let setting = Statement(
        "setting", "SELECT pg_catalog.current_setting($1, true) AS value", [.text])

    private static func value(_ name: String, _ rows: (Statement, [SQLValue]) async throws -> Rows) async throws
        -> String
    {
        try await rows(setting, [.text(name)])[0].text("value")
    }

    /// Values that a role may have by `ALTER ROLE … SET`, and what is in force in a session of ours.
    private static let hostile: [(name: String, value: String, expected: String)] = [
        ("default_transaction_isolation", "serializable", "read committed"),
        ("default_transaction_isolation", "repeatable read", "read committed"),
        ("default_transaction_deferrable", "on", "off"),
        ("statement_timeout", "40ms", "2500ms"),
        ("lock_timeout", "1ms", "1s"),
        ("idle_in_transaction_session_timeout", "1ms", "10s"),
        ("idle_session_timeout", "100ms", "0"),
        ("standard_conforming_strings", "off", "on"),
        ("client_encoding", "LATIN1", "UTF8"),
        ("quote_all_identifiers", "on", "off"),
        // An operator's function may rest on these; ours do not.
        ("search_path", "elsewhere", "elsewhere"),
        ("TimeZone", "Asia/Kolkata", "Asia/Kolkata"),
        ("DateStyle", "SQL, DMY", "SQL, DMY"),
        ("IntervalStyle", "iso_8601", "iso_8601"),
        ("bytea_output", "escape", "escape"),
        ("row_security", "off", "off"),
    ]

    @Test("a role's defaults that would break our statements are set back, on readers, writers and later connections")
    func roleDefaults() async throws {
        let cluster = try ScratchCluster.shared
        for (index, row) in Self.hostile.enumerated() {
            let role = "odd_\(index)_\(BetterAuthTables.letters(8).lowercased())"
            let value = row.name == "DateStyle" ? row.value : "'\(row.value)'"
            try cluster.sql("CREATE ROLE \(role) LOGIN; ALTER ROLE \(role) SET \(row.name) = \(value)")
            let url = Secret("postgres://\(role)@127.0.0.1:\(cluster.port)/postgres")
            try await withDatabase(url) { database async throws in
                for _ in 0..<2 {
                    #expect(try await Self.value(row.name) { try await database.read($0, $1) } == row.expected)
                    #expect(try await Self.value(row.name) { try await database.write($0, $1) } == row.expected)
                    try cluster.sql(
                        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '\(role)'")
                }
            }
            try cluster.sql("DROP ROLE \(role)")
        }
    }

    @Test("a role that may not write is told so, and no session of its is taken for one that writes")
    func readOnlyRole() async throws {
        let cluster = try ScratchCluster.shared
        let role = "reader_\(BetterAuthTables.letters(8).lowercased())"
        try cluster.sql("CREATE ROLE \(role) LOGIN; ALTER ROLE \(role) SET default_transaction_read_only = on")
        defer { _ = try? cluster.sql("DROP ROLE \(role)") }
        try await withDatabase(Secret("postgres://\(role)@127.0.0.1:\(cluster.port)/postgres")) {
            database async throws in
            let error = try #require(await database.ping())
            #expect(error == .unavailable(.readOnly))
            #expect(database.explanation(of: error).contains("session is read-only"))
        }
    }

    @Test("what the URL's options set is in force, but neither isolation nor the read-only mark can be undone")
    func ownOptions() async throws {
        let cluster = try ScratchCluster.shared
        let options =
            "-c%20work_mem%3D1MB%20--statement-timeout%3D2s%20-cdefault_transaction_isolation%3Dserializable"
            + "%20-c%20default_transaction_read_only%3Doff%20-c%20search_path%3Da%2C%5C%20public"
        let url = Secret("postgres://postgres@127.0.0.1:\(cluster.port)/postgres?options=\(options)")
        for isReadOnly in [false, true] {
            try await withDatabase(url, configure: { $0.isReadOnly = isReadOnly }) { database async throws in
                for (name, expected) in [
                    ("work_mem", "1MB"), ("statement_timeout", "2s"), ("lock_timeout", "1s"),
                    ("default_transaction_isolation", "read committed"),
                    ("default_transaction_read_only", isReadOnly ? "on" : "off"), ("search_path", "a, public"),
                ] {
                    #expect(try await Self.value(name) { try await database.read($0, $1) } == expected, "\(name)")
                }
            }
        }
        let wrong = Secret("postgres://postgres@127.0.0.1:\(cluster.port)/postgres?options=-c%20no_such_setting%3D1")
        try await withDatabase(wrong) { database async throws in
            let error = try #require(await database.ping())
            #expect(error == .unavailable(.misconfigured))
            #expect(database.explanation(of: error).contains("no_such_setting"))
        }
    }
}

@Suite("Poolers in front of the database", .enabled(if: PgBouncer.isInstalled))
struct PoolerTests {
    @Test(
        "a pooler in session mode serves reads, writes and LISTEN; the other modes are found out and named",
        arguments: PgBouncer.Mode.allCases)
    func modes(mode: PgBouncer.Mode) async throws {
        let scratch = try ScratchCluster.shared.database()
        let pooler = try PgBouncer(mode, before: ScratchCluster.shared)
        try await withDatabase(Secret(pooler.url(of: scratch))) { database async throws in
            for _ in 0..<3 {
                let fault = try await database.poolerFault()
                switch mode {
                case .session: #expect(fault == nil)
                case .transaction, .statement:
                    #expect(fault?.reason == .misconfigured)
                    #expect(fault?.description.contains("a pooler in \(mode.rawValue) mode") == true)
                    #expect(fault?.description.contains("direct address") == true)
                }
            }
            guard mode == .session else { return }
            #expect(try await database.read(Probe.one).count == 1)
            #expect(try await database.write(Probe.one).count == 1)
        }
    }

    @Test("a pooler that has one connection to the server is not waited for longer than a statement")
    func oneConnection() async throws {
        let scratch = try ScratchCluster.shared.database()
        let pooler = try PgBouncer(.transaction, before: ScratchCluster.shared, poolSize: 1)
        try await withDatabase(Secret(pooler.url(of: scratch))) { database async throws in
            let error = await failure { () async throws(DatabaseError) in try await database.poolerFault() }
            let found = try #require(error)
            #expect(found == .unavailable(.busy))
            #expect(database.explanation(of: found).contains("a pooler must have more than one connection"))
        }
    }

    @Test("the server itself is no pooler, also while others connect and leave")
    func direct() async throws {
        let cluster = try ScratchCluster.shared
        try await withDatabase(cluster.url()) { database async throws in
            for _ in 0..<5 {
                #expect(try await database.poolerFault() == nil)
                try cluster.sql("SELECT 1")
            }
        }
    }
}
