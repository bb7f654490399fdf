import AuthTesting
import Primitives
import Testing

@Suite("Few connections, poolers and roles with defaults of their own", .blocking)
struct ConnectionTests {
    /// A role with every right on our tables and the identity tables, and nothing more.
    private static func role(_ site: Site, _ options: String, settings: [String] = []) throws -> String {
        let role = "role_\(BetterAuthTables.letters(12).lowercased())"
        try site.database.sql(
            """
            CREATE ROLE \(role) LOGIN \(options);
            GRANT USAGE ON SCHEMA sallyport TO \(role);
            GRANT ALL ON ALL TABLES IN SCHEMA sallyport TO \(role);
            GRANT ALL ON ALL SEQUENCES IN SCHEMA sallyport TO \(role);
            GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA sallyport TO \(role);
            """)
        try site.tables.grantReading(to: role)
        for setting in settings { try site.database.sql("ALTER ROLE \(role) SET \(setting)") }
        return role
    }

    private static func expectService(_ site: Site, _ client: AuthClient) throws {
        for index in 0..<4 {
            let session = try site.tables.signIn()
            let pair = try client.signedIn(session.signed, installation: "installation-000\(index)")
            let next = try client.refreshed(pair.refresh)
            #expect(try client.get("/auth/devices", bearer: next.access).status == 200)
            #expect(try client.call("POST", "/auth/sign-out", bearer: next.access).status < 300)
        }
        #expect(try client.get("/readyz").status == 200)
    }

    @Test(
        "a role that may have three connections gets a writer, with the setting and without it",
        arguments: [
            ["SALLYPORT_DATABASE_CONNECTIONS": "3", "SALLYPORT_WORKERS": "4"], ["SALLYPORT_WORKERS": "1"],
            ["SALLYPORT_WORKERS": "3"],
        ])
    func threeConnections(settings: [String: String]) throws {
        let site = try Site()
        let role = try Self.role(site, "CONNECTION LIMIT 3")
        let own: [String: String?] = settings.mapValues { $0 }
        let client = try AuthClient(
            site.serve(settings: own.merging(["SALLYPORT_DATABASE_URL": site.database.url(role: role)]) { $1 }))
        try Self.expectService(site, client)
        let isSaid = client.server.log.contains("fewer event loops than workers")
        #expect(isSaid == (settings["SALLYPORT_WORKERS"] != "1"))
        let count = try site.database.sql("SELECT count(*) FROM pg_stat_activity WHERE usename = '\(role)'")[0][0]
        #expect((Int(count) ?? 9) <= 3)
    }

    @Test("a role's own defaults change nothing about the service")
    func roleDefaults() throws {
        let site = try Site()
        let role = try Self.role(
            site, "",
            settings: [
                "default_transaction_isolation = 'serializable'", "search_path = ''", "TimeZone = 'Asia/Kolkata'",
                "DateStyle = SQL, DMY", "IntervalStyle = 'iso_8601'", "bytea_output = 'escape'",
                "standard_conforming_strings = off", "extra_float_digits = -15", "statement_timeout = '50ms'",
                "lock_timeout = '1ms'", "idle_in_transaction_session_timeout = '1ms'", "idle_session_timeout = '200ms'",
                "client_encoding = 'LATIN1'", "transform_null_equals = on", "array_nulls = off", "row_security = off",
                "client_min_messages = 'debug1'", "backslash_quote = 'off'", "quote_all_identifiers = on",
            ])
        let client = try AuthClient(site.serve(settings: ["SALLYPORT_DATABASE_URL": site.database.url(role: role)]))
        try Self.expectService(site, client)
        let pair = try client.signedIn(site.tables.signIn().signed)
        // Under repeatable read most of these were 503.
        let answers = try HTTPClient.together(32) { _ in try client.refresh(pair.refresh) }
        #expect(answers.allSatisfy { $0.status == 200 })
        #expect(
            try site.run(["doctor"], settings: ["SALLYPORT_DATABASE_URL": site.database.url(role: role)]).outputText
                .contains("ok      identity store"))
    }

    @Test("behind PgBouncer in session mode everything works", .enabled(if: PgBouncer.isInstalled))
    func sessionPooler() throws {
        let site = try Site(isMigrated: false)
        let pooler = try PgBouncer(.session, before: ScratchCluster.shared)
        let settings: [String: String?] = ["SALLYPORT_DATABASE_URL": pooler.url(of: site.database)]
        #expect(try site.run(["migrate"], settings: settings).status == 0)
        try Self.expectService(site, AuthClient(site.serve(settings: settings)))
    }

    @Test(
        "a pooler in another mode is refused at the start and named, and so is one before the identity store",
        .enabled(if: PgBouncer.isInstalled), arguments: [PgBouncer.Mode.transaction, .statement])
    func otherPoolers(mode: PgBouncer.Mode) throws {
        let site = try Site()
        let pooler = try PgBouncer(mode, before: ScratchCluster.shared)
        let sentence = "a pooler in \(mode.rawValue) mode"
        for name in ["SALLYPORT_DATABASE_URL", "SALLYPORT_IDENTITY_DATABASE_URL"] {
            let settings: [String: String?] = [name: pooler.url(of: site.database)]
            let server = try site.start(settings: settings)
            #expect(try server.process.wait() == 1)
            let lines = server.process.errorLines.filter { $0.hasPrefix("\(name): ") && $0.contains(sentence) }
            #expect(lines.count == 1 && lines[0].contains("direct address"), "\(server.log)")
            #expect(try site.run(["doctor"], settings: settings).outputText.contains(sentence))
            guard name == "SALLYPORT_DATABASE_URL" else { continue }
            let migrate = try site.run(["migrate"], settings: settings)
            #expect(migrate.status == 1 && migrate.errorText.contains(sentence))
        }
    }
}
