import AuthTesting
import Foundation
import Testing

@Suite("doctor")
struct DoctorTests {
    @Test("a deployment that serves has no fault but the address of its issuer")
    func healthy() throws {
        let port = try Self.freePort()
        let settings = [
            "SALLYPORT_LISTEN": "127.0.0.1:\(port)", "SALLYPORT_ISSUER": "http://127.0.0.1:\(port)",
        ]
        let site = try Site(settings: settings)
        let server = try site.serve()
        let command = try site.run(["doctor"])
        let said = command.outputText
        #expect(command.status == 0, "\(said)")
        for check in ["settings", "database", "migrations", "keys", "identity store", "issuer", "clock", "metadata"] {
            #expect(said.contains("ok      \(check): "), "\(check): \(said)")
        }
        #expect(said.contains("warning settings: SALLYPORT_ISSUER is on loopback"))
        #expect(said.contains("jwks_uri: http://127.0.0.1:\(port)/.well-known/jwks.json"))
        #expect(said.contains("    - powersync"))
        try server.stop()
        let stopped = try site.run(["doctor"])
        #expect(stopped.status == 1 && stopped.outputText.contains("jwks_unreachable"))
    }

    @Test("what is broken is named, and the rest is still looked at")
    func broken() throws {
        let site = try Site(isMigrated: false)
        #expect(try site.run(["doctor"]).outputText.contains("is pending: run `sallyport migrate`"))
        try site.migrate()
        #expect(try site.run(["doctor"]).outputText.contains("the database has no keys yet"))
        try site.serve().stop()
        for (settings, sentence) in [
            (
                ["SALLYPORT_KEK": Data(repeating: 7, count: 32).base64EncodedString()],
                "fault   keys: a key in the database does not open"
            ),
            (["SALLYPORT_DATABASE_URL": "postgresql://127.0.0.1:1/none"], "fault   database: "),
            (["SALLYPORT_IDENTITY_USER_TABLE": "nobody"], "fault   identity store: the user table"),
            (["SALLYPORT_ISSUER": nil], "fault   settings: not set: SALLYPORT_ISSUER"),
            (["SALLYPORT_ACCESS_TTL": "2h"], "fault   settings: SALLYPORT_ACCESS_TTL"),
            (["SALLYPORT_ACCESS_TTL": "60s"], "warning powersync: access_lifetime_short"),
        ] as [([String: String?], String)] {
            let command = try site.run(["doctor"], settings: settings)
            #expect(command.status == 1)
            #expect(command.outputText.contains(sentence), "\(command.outputText)")
        }
    }

    @Test("a PowerSync configuration is held to the issuer, the audience and the keys, and a message is explained")
    func powerSync() throws {
        let site = try Site()
        try site.serve().stop()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("powersync-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data("client_auth:\n  jwks_uri: \(Site.issuer)/.well-known/jwks.json\n  audience: [other]\n".utf8).write(
            to: file)
        let command = try site.run([
            "doctor", "--powersync", "http://powersync:8080/", "--powersync-config", file.path, "--error",
            "PSYNC_S2103",
        ])
        #expect(command.status == 1)
        for part in [
            "audience_foreign", "endpoint_internal", "endpoint_has_path", "The message may mean", "clock_skew",
        ] {
            #expect(command.outputText.contains(part), "\(part): \(command.outputText)")
        }
        #expect(!command.outputText.contains("jwks_missing"))
    }

    @Test(
        "the audience that PowerSync is given is one that unverified users do not have, and a short lead is a warning")
    func audience() throws {
        let site = try Site()
        try site.serve().stop()
        let settings = [
            "SALLYPORT_AUDIENCES": "https://api.example.com,https://sync.example.com",
            "SALLYPORT_GATED_AUDIENCES": "https://sync.example.com", "SALLYPORT_PUBLISH_LEAD": "64m",
        ]
        let said = try site.run(["doctor"], settings: settings).outputText
        #expect(said.contains("audience:\n    - https://sync.example.com"), "\(said)")
        #expect(!said.contains("    - https://api.example.com"))
        #expect(said.contains("warning powersync: publish_lead_short: SALLYPORT_PUBLISH_LEAD"))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("powersync-\(UUID().uuidString).yaml")
        defer { try? FileManager.default.removeItem(at: file) }
        let config = "client_auth:\n  jwks_uri: \(Site.issuer)/.well-known/jwks.json\n  audience: [!env PS_AUDIENCE]\n"
        try Data(config.utf8).write(to: file)
        let open = settings.merging([
            "SALLYPORT_PUBLISH_LEAD": "65m", "PS_AUDIENCE": "https://api.example.com",
        ]) { $1 }
        let judged = try site.run(["doctor", "--powersync-config", file.path], settings: open).outputText
        #expect(judged.contains("warning powersync config: audience_open: https://api.example.com"), "\(judged)")
        #expect(!judged.contains("publish_lead_short"))
    }

    /// Free a moment ago: its server is given a port, as its issuer names it.
    private static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                _ = bind(descriptor, address, size)
                _ = getsockname(descriptor, address, &size)
            }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }
}
