import AuthTesting
import Foundation
import Primitives
import Testing

@Suite("Starting, stopping and settings of a process", .blocking)
struct StartTests {
    @Test("a database without migrations ends the start with status 1 and what to do")
    func unmigrated() throws {
        let site = try Site(isMigrated: false)
        let server = try site.start()
        #expect(try server.process.wait() == 1)
        #expect(server.process.errorText.contains("run `sallyport migrate`"))
        #expect(server.readyLine == nil)
        try site.migrate()
        #expect(try AuthClient(site.serve()).get("/readyz").status == 200)
    }

    @Test("migrate may run again, and --status says how it stands")
    func migrateAgain() throws {
        let site = try Site(isMigrated: false)
        let before = try site.run(["migrate", "--status"])
        #expect(before.status == 0)
        #expect(!before.outputLines.isEmpty && before.outputLines.allSatisfy { $0.hasPrefix("pending") })
        #expect(try site.run(["migrate"]).outputLines.allSatisfy { $0.hasPrefix("applied") })
        #expect(try site.run(["migrate"]).outputLines == ["nothing to do"])
        let after = try site.run(["migrate", "--status"])
        #expect(after.outputLines.count == before.outputLines.count)
        #expect(after.outputLines.allSatisfy { $0.hasPrefix("applied") })
    }

    @Test("a port that is taken is refused by the name of its setting, and whoever has it goes on")
    func takenPort() throws {
        let site = try Site()
        let first = try AuthClient(site.serve())
        let second = try site.start(settings: ["SALLYPORT_LISTEN": "127.0.0.1:\(first.http.port)"])
        #expect(try second.process.wait() == 1)
        let lines = second.process.errorLines.filter { $0.hasPrefix("SALLYPORT_LISTEN:") }
        #expect(lines.count == 1, "\(second.process.errorText)")
        #expect(try first.get("/readyz").status == 200)
    }

    @Test("all settings that are wrong are named at once, and no value of a secret is repeated")
    func wrongSettings() throws {
        let site = try Site()
        let secret = "c2VjcmV0LXRoYXQtaXMtdG9vLXNob3J0"
        let server = try site.start(settings: [
            "SALLYPORT_KEK": secret, "SALLYPORT_IDENTITY_SECRETS": "short-secret-value",
            "SALLYPORT_DATABASE_URL": "mysql://user:pass-word-value@host/db", "SALLYPORT_ACCESS_TTL": "2h",
            "SALLYPORT_NO_SUCH_THING": "1", "SALLYPORT_ISSUER": "http://auth.example.com",
        ])
        #expect(try server.process.wait() == 1)
        let names = server.process.errorLines.compactMap { $0.split(separator: ":").first.map(String.init) }
        #expect(
            names == [
                "SALLYPORT_ACCESS_TTL", "SALLYPORT_DATABASE_URL", "SALLYPORT_IDENTITY_SECRETS", "SALLYPORT_ISSUER",
                "SALLYPORT_KEK", "SALLYPORT_NO_SUCH_THING",
            ])
        for value in [secret, "short-secret-value", "pass-word-value"] {
            #expect(!server.log.contains(value))
        }
        #expect(server.process.outputText.isEmpty)
    }

    @Test("a consumer deployment without an identity secret does not start, and does when unsigned tokens are allowed")
    func noIdentitySecret() throws {
        let site = try Site()
        let server = try site.start(settings: ["SALLYPORT_IDENTITY_SECRETS": nil])
        #expect(try server.process.wait() == 1)
        #expect(server.process.errorText.contains("SALLYPORT_IDENTITY_SECRETS"))
        let open = try AuthClient(
            site.serve(settings: [
                "SALLYPORT_IDENTITY_SECRETS": nil, "SALLYPORT_IDENTITY_ALLOW_UNSIGNED": "true",
            ]))
        #expect(try open.exchange(site.tables.signIn().token).status == 200)
    }

    @Test("without a session table the start is refused in words")
    func noSessionTable() throws {
        let site = try Site()
        try site.database.sql("DROP TABLE public.session")
        let server = try site.start()
        #expect(try server.process.wait() == 1)
        #expect(server.process.errorText.contains("identity store: the session table session"))
        #expect(server.process.errorText.contains("migrate --standalone"))
    }

    @Test("settings come from --config and secrets from files; a variable beats the file's line")
    func configFile() throws {
        let site = try Site()
        let folder = "/tmp/sallyport-config-\(BetterAuthTables.letters(12))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data((site.kek + "\n").utf8).write(to: URL(filePath: folder + "/kek"))
        let lines = site.settings.filter { $0.key != "SALLYPORT_KEK" }.map { "\($0.key)=\($0.value)" }
        let text =
            "# settings\n"
            + (lines + ["SALLYPORT_KEK_FILE=\(folder)/kek", "SALLYPORT_ACCESS_TTL=5m"])
            .joined(separator: "\n")
        try Data(text.utf8).write(to: URL(filePath: folder + "/settings"))
        let nothing = Dictionary(uniqueKeysWithValues: site.settings.keys.map { ($0, nil as String?) })

        let byFile = try AuthClient(site.serve(["--config", folder + "/settings"], settings: nothing))
        #expect(try byFile.signedIn(site.tables.signIn().signed).answer.integer("expires_in") == 300)
        let changed = nothing.merging(["SALLYPORT_ACCESS_TTL": "10m"]) { _, new in new }
        let byBoth = try AuthClient(site.serve(["--config", folder + "/settings"], settings: changed))
        #expect(try byBoth.signedIn(site.tables.signIn().signed).answer.integer("expires_in") == 600)
        // The same keys: the KEK from the file is the one that sealed them.
        #expect(
            try byFile.get("/.well-known/jwks.json").text == byBoth.get("/.well-known/jwks.json").text)

        let missing = try site.start(["--config", folder + "/absent"])
        #expect(try missing.process.wait() == 2)
        let absent = try site.start(settings: ["SALLYPORT_KEK": nil, "SALLYPORT_KEK_FILE": folder + "/absent"])
        #expect(try absent.process.wait() == 1)
        #expect(absent.process.errorText.contains("SALLYPORT_KEK_FILE: the file cannot be read"))
    }

    @Test("another key-encryption key opens nothing: the start ends with one sentence and makes no new keys")
    func otherKEK() throws {
        let site = try Site()
        _ = try site.serve().stop()
        let other = try site.start(settings: ["SALLYPORT_KEK": Base64.encode([UInt8](repeating: 7, count: 32))])
        #expect(try other.process.wait() == 1)
        #expect(other.process.errorLines.filter { $0.hasPrefix("SALLYPORT_KEK: does not open the keys") }.count == 1)
        #expect(!other.process.errorText.contains("waiting for the database"))
        #expect(other.readyLine == nil)
        #expect(try site.database.sql("SELECT count(kid) FROM sallyport.keys") == [["3"]])
    }

    @Test("SIGTERM lets a slow refresh finish, says Connection: close, takes nothing new and exits with 0")
    func drain() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let pair = try client.signedIn(site.tables.signIn().signed)
        try site.database.sql(
            """
            CREATE OR REPLACE FUNCTION sallyport.custom_claims(user_id text, device_id uuid) RETURNS jsonb
                LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1.2); RETURN '{}'::jsonb; END $$
            """)
        let (process, port) = (client.server.process, client.http.port)
        let isClosed = Locked(false)
        let answers = try HTTPClient.together(2) { index in
            if index == 0 {
                // Kept alive: that the server closes it is its own decision.
                let connection = try HTTPClientConnection(port: port)
                let form = "grant_type=refresh_token&refresh_token=\(pair.refresh)"
                return try connection.send(
                    "POST", "/auth/token", fields: [("Content-Type", "application/x-www-form-urlencoded")],
                    body: Array(form.utf8)) as HTTPAnswer?
            }
            usleep(400_000)
            process.terminate()
            isClosed.withLock { closed in
                closed = waitUntil(limit: .seconds(5)) { (try? HTTPClientConnection(port: port)) == nil }
            }
            return nil
        }
        #expect(isClosed.withLock { $0 })
        let answer = try #require(answers[0])
        #expect(answer.status == 200, "\(answer)")
        #expect(answer.field("connection")?.lowercased() == "close")
        #expect(try process.wait(limit: .seconds(10)) == 0)
        #expect(try site.database.sql("SELECT generation FROM sallyport.device_sessions") == [["2"]])
    }

    @Test(
        "a pause before the drain: /readyz says stopping, answers close, and new connections are served until it is over"
    )
    func drainPause() throws {
        let site = try Site()
        let client = try AuthClient(site.serve(settings: ["SALLYPORT_DRAIN_PAUSE": "3s"]))
        let pair = try client.signedIn(site.tables.signIn().signed)
        client.server.process.terminate()
        var reason: String?
        let isTold = try waitUntil(limit: .seconds(2)) {
            let answer = try client.get("/readyz")
            reason = try? answer.text("error_reason")
            return answer.status == 503
        }
        #expect(isTold)
        #expect(reason == "stopping")
        let refreshed = try client.token([("grant_type", "refresh_token"), ("refresh_token", pair.refresh)])
        #expect(refreshed.status == 200)
        #expect(refreshed.field("connection")?.lowercased() == "close")
        #expect(try client.server.process.wait(limit: .seconds(12)) == 0)
        #expect((try? client.http.connect()) == nil)
    }
}
