import AuthTesting
import Foundation
import Primitives
import Testing

/// What `serve`, `migrate` and `doctor` say of a database that cannot be used; a real server with TLS and passwords.
@Suite("Causes of an unusable database", .blocking)
struct DatabaseCauseTests {
    private static let password = "pass-word-of-the-role"

    private static let cluster = Result {
        let cluster = try ScratchCluster.own()
        let folder = try cluster.sql("SHOW data_directory")[0][0]
        let rules = [
            "host all secured 127.0.0.1/32 scram-sha-256", "host all unlisted 127.0.0.1/32 reject",
            "host all all 127.0.0.1/32 trust", "local all all trust",
        ].map { "('\($0)')" }.joined(separator: ", ")
        try cluster.sql(
            """
            COPY (VALUES \(rules)) TO '\(folder)/pg_hba.conf';
            COPY (SELECT 1) TO PROGRAM 'openssl req -new -x509 -nodes -days 2 -subj /CN=db.example -out \(folder)/server.crt -keyout \(folder)/server.key';
            ALTER SYSTEM SET ssl = on;
            SELECT pg_reload_conf();
            CREATE ROLE secured LOGIN PASSWORD '\(password)';
            CREATE ROLE unlisted LOGIN;
            CREATE ROLE asleep NOLOGIN;
            CREATE ROLE bare LOGIN;
            CREATE ROLE crowded LOGIN CONNECTION LIMIT 0;
            CREATE ROLE reader LOGIN;
            ALTER ROLE reader SET default_transaction_read_only = on;
            CREATE DATABASE closed;
            REVOKE CONNECT ON DATABASE closed FROM PUBLIC;
            """)
        return cluster
    }

    struct Row: Sendable, CustomTestStringConvertible {
        /// `ROLE@` and the rest of the URL; `PORT` and `NAME` are the server's.
        let url: String
        let cause: String
        let advice: String
        /// Whether `serve` ends at once: only other settings can help.
        var isFinal = false

        var testDescription: String { url }
    }

    static let rows = [
        Row(
            url: "secured:wrong-\(password)@127.0.0.1:PORT/NAME",
            cause: "28P01: password authentication failed for user \"secured\"", advice: "correct the password"),
        Row(url: "secured@127.0.0.1:PORT/NAME", cause: "no password supplied", advice: "the URL has no password"),
        Row(
            url: "nobody_here@127.0.0.1:PORT/NAME", cause: "role \"nobody_here\" does not exist",
            advice: "create the role"),
        Row(
            url: "asleep@127.0.0.1:PORT/NAME", cause: "role \"asleep\" is not permitted to log in", advice: "with LOGIN"
        ),
        Row(
            url: "unlisted@127.0.0.1:PORT/NAME", cause: "pg_hba.conf rejects connection",
            advice: "let pg_hba.conf admit"),
        Row(
            url: "postgres@127.0.0.1:PORT/no_such", cause: "database \"no_such\" does not exist",
            advice: "create the database"),
        Row(
            url: "bare@127.0.0.1:PORT/closed", cause: "permission denied for database \"closed\"",
            advice: "grant the role"),
        Row(
            url: "crowded@127.0.0.1:PORT/NAME", cause: "too many connections for role",
            advice: "SALLYPORT_DATABASE_CONNECTIONS"),
        Row(url: "reader@127.0.0.1:PORT/NAME", cause: "session is read-only", advice: "the address of a primary"),
        Row(
            url: "postgres@127.0.0.1:PORT/NAME?sslmode=verify-ca&sslrootcert=/etc/ssl/certs/ca-certificates.crt",
            cause: "certificate verify failed", advice: "sslrootcert in the URL must name the CA"),
        Row(
            url: "postgres@127.0.0.1:PORT/NAME?sslmode=verify-full&sslrootcert=/none.crt",
            cause: "root certificate file \"/none.crt\" does not exist", advice: "must name a readable file"),
        Row(url: "postgres@127.0.0.1:1/NAME", cause: "Connection refused", advice: "correct host and port"),
        Row(
            url: "postgres@no-such-host.invalid/NAME", cause: "the host name no-such-host.invalid is not known",
            advice: "correct the host"),
        Row(
            url: "bare@127.0.0.1:PORT/NAME", cause: "permission denied for",
            advice: "grant the role the right"),
        Row(
            url: "postgres@127.0.0.1:PORT/NAME?schema=public", cause: "\"schema\"", advice: "SALLYPORT_IDENTITY_SCHEMA",
            isFinal: true),
        Row(
            url: "postgres@127.0.0.1:PORT/NAME?pgbouncer=true", cause: "\"pgbouncer\"", advice: "direct address",
            isFinal: true),
        Row(
            url: "postgres@127.0.0.1:PORT/NAME?sslmode=no-verify", cause: "\"no-verify\"", advice: "sslmode is disable",
            isFinal: true),
        Row(
            url: "postgres@127.0.0.1:PORT/NAME?conect_timeout=2", cause: "\"conect_timeout\"",
            advice: "parameters of libpq", isFinal: true),
        Row(
            url: "postgres:\(password)/x@127.0.0.1:PORT/NAME", cause: "a port in the database URL", advice: "%2F",
            isFinal: true),
    ]

    @Test(
        "each cause is one sentence of its own with advice, in serve, migrate and doctor, without the password",
        arguments: rows)
    func cause(row: Row) throws {
        let cluster = try Self.cluster.get()
        let site = try Site(in: cluster)
        let url =
            "postgresql://"
            + row.url.replacing("PORT", with: "\(cluster.port)").replacing("NAME", with: site.database.name)
        let settings = ["SALLYPORT_DATABASE_URL": url as String?]
        for arguments in [["migrate"], ["migrate", "--status"], ["doctor"]] {
            let command = try site.run(arguments, settings: settings)
            let said = command.errorText + command.outputText
            #expect(command.status == 1)
            #expect(
                said.split(separator: "\n").contains { $0.contains(row.cause) && $0.contains(row.advice) }, "\(said)")
            #expect(!said.contains(Self.password), "\(said)")
        }
        let server = try site.start(settings: settings)
        let isSaid = waitUntil(limit: .seconds(20)) {
            row.isFinal ? !server.process.isRunning : Self.holds(server.log, row)
        }
        #expect(isSaid && (row.isFinal ? server.process.status == 1 : server.process.isRunning), "\(server.log)")
        #expect(Self.holds(server.log, row), "\(server.log)")
        #expect(!server.log.contains(Self.password))
        #expect(server.readyLine == nil)
    }

    /// A log line is JSON.
    private static func holds(_ log: String, _ row: Row) -> Bool {
        let quoted = row.cause.replacing("\"", with: "\\\"")
        return log.split(separator: "\n").contains {
            ($0.contains(row.cause) || $0.contains(quoted)) && $0.contains(row.advice)
        }
    }

    @Test("a migration that lacks a right says which, and whose")
    func missingRight() throws {
        let cluster = try Self.cluster.get()
        let site = try Site(in: cluster, isMigrated: false)
        let url = "postgresql://bare@127.0.0.1:\(cluster.port)/\(site.database.name)"
        let command = try site.run(["migrate"], settings: ["SALLYPORT_DATABASE_URL": url])
        #expect(command.status == 1)
        #expect(
            command.errorText.contains("permission denied for database \(site.database.name)"), "\(command.errorText)")
        #expect(command.errorText.contains("grant the role the right that is missing"))
    }
}

@Suite("Database URLs from files", .blocking)
struct RotatedPasswordTests {
    @Test("a password that is rotated in the file serves without a restart, for both databases")
    func rotated() throws {
        let cluster = try ScratchCluster.own()
        let folder = try cluster.sql("SHOW data_directory")[0][0]
        try cluster.sql(
            """
            COPY (VALUES ('host all postgres 127.0.0.1/32 trust'), ('host all all 127.0.0.1/32 scram-sha-256'),
                ('local all all trust')) TO '\(folder)/pg_hba.conf';
            SELECT pg_reload_conf();
            CREATE ROLE writer LOGIN SUPERUSER PASSWORD 'first-w';
            CREATE ROLE identity_reader LOGIN SUPERUSER PASSWORD 'first-r';
            """)
        let files = FileManager.default.temporaryDirectory.appending(path: "sallyport-urls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: files, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: files) }
        let site = try Site(in: cluster)
        func write(_ age: String) throws {
            for (role, letter) in [("writer", "w"), ("identity_reader", "r")] {
                let url = "postgresql://\(role):\(age)-\(letter)@127.0.0.1:\(cluster.port)/\(site.database.name)\n"
                try Data(url.utf8).write(to: files.appending(path: role), options: .atomic)
            }
        }
        try write("first")
        let client = try AuthClient(
            site.serve(settings: [
                "SALLYPORT_DATABASE_URL": nil, "SALLYPORT_DATABASE_URL_FILE": files.appending(path: "writer").path,
                "SALLYPORT_IDENTITY_DATABASE_URL_FILE": files.appending(path: "identity_reader").path,
            ]))
        var pair = try client.signedIn(site.tables.signIn().signed)
        for age in ["second", "third"] {
            try cluster.sql(
                "ALTER ROLE writer PASSWORD '\(age)-w'; ALTER ROLE identity_reader PASSWORD '\(age)-r'")
            try write(age)
            try cluster.sql(
                """
                SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
                WHERE usename IN ('writer', 'identity_reader')
                """)
            #expect(waitUntil(limit: .seconds(10)) { (try? client.get("/readyz").status) == 200 })
            pair = try client.refreshed(pair.refresh)
            #expect(try client.exchange(site.tables.signIn().signed).status == 200)
        }
        // A file that is half written, or away, leaves the last good URL in force.
        try Data("postgre".utf8).write(to: files.appending(path: "writer"))
        try FileManager.default.removeItem(at: files.appending(path: "identity_reader"))
        try cluster.sql(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename IN ('writer', 'identity_reader')"
        )
        #expect(waitUntil(limit: .seconds(10)) { (try? client.get("/readyz").status) == 200 })
        #expect(try client.refreshed(pair.refresh).generation == 4)
        #expect(!client.server.log.contains("second-w") && !client.server.log.contains("third-w"))
    }
}
