import Foundation
import Testing

/// The image and the compose file cannot be run where these tests run, so what can be read off them is checked.
@Suite("Packaging")
struct PackagingTests {
    private let compose = Repository.text("docker-compose.yml") ?? ""
    private let dockerfile = Repository.text("Dockerfile") ?? ""

    @Test(
        "every setting that is named anywhere is one of the settings table",
        arguments: ["docker-compose.yml", "Dockerfile", "README.md"] + Repository.files(below: "docs"))
    func settings(path: String) throws {
        // `.env.example` is the table as text; a test of the server holds the two together.
        let known = Set(names(in: try #require(Repository.text(".env.example"))))
        #expect(!known.isEmpty)
        for name in names(in: try #require(Repository.text(path))) {
            let base = name.hasSuffix("_FILE") ? String(name.dropLast("_FILE".count)) : name
            #expect(known.contains(name) || known.contains(base), "\(path) names \(name)")
        }
    }

    @Test("the compose file sets what serving cannot do without")
    func required() {
        for name in ["SALLYPORT_DATABASE_URL", "SALLYPORT_ISSUER", "SALLYPORT_KEK", "SALLYPORT_IDENTITY_SECRETS"] {
            #expect(names(in: compose).contains(name), "\(name)")
        }
    }

    @Test("the compose file is indented with blanks, and each alias has its anchor")
    func yaml() {
        #expect(!compose.isEmpty)
        #expect(!compose.contains("\t"))
        let anchors = Set(Pattern(#"&(\w+)"#).matches(in: compose).map { $0.groups[1] })
        let aliases = Pattern(#"\*(\w+)"#).matches(in: compose).map { $0.groups[1] }
        #expect(!aliases.isEmpty)
        for alias in aliases { #expect(anchors.contains(alias), "*\(alias)") }
        for line in compose.split(separator: "\n") {
            #expect(line.prefix { $0 == " " }.count.isMultiple(of: 2), "\(line)")
        }
    }

    @Test("each service that another depends on is there, and each file that is mounted")
    func references() {
        let services = Set(Pattern(#"(?m)^  ([a-z-]+): *(?:&\w+)?$"#).matches(in: compose).map { $0.groups[1] })
        let needed = Pattern(#"(?m)^      ([a-z-]+):\n        condition:"#).matches(in: compose).map { $0.groups[1] }
        #expect(needed.count >= 5)
        for service in needed { #expect(services.contains(service), "\(service)") }
        let mounts = Pattern(#"- \./([^:]+):"#).matches(in: compose).map { $0.groups[1] }
        #expect(mounts.count >= 3)
        for path in mounts { #expect(Repository.exists(path), "\(path)") }
    }

    @Test("PowerSync's client_auth names our key set and one of our audiences")
    func powerSync() throws {
        let config = try #require(Repository.text("Examples/compose/powersync.yaml"))
        let audiences = try #require(
            Pattern(#"SALLYPORT_AUDIENCES: (\S+)"#).matches(in: compose).first?.groups[1]
        ).split(separator: ",")
        let wanted = Pattern(#"(?m)^    - (\S+)$"#).matches(in: config).map { $0.groups[1] }
        #expect(wanted.contains { audiences.contains(Substring($0)) })
        #expect(config.contains("jwks_uri: http://balancer:8080/.well-known/jwks.json"))
        #expect(Repository.text("Examples/compose/nginx.conf")?.contains("listen 8080;") ?? false)
    }

    @Test("the image runs the server as a user of its own, with a health check, from what the build stage copies")
    func image() {
        let stages = Pattern(#"(?m)^FROM \S+"#).matches(in: dockerfile)
        #expect(stages.count == 2)
        #expect(Pattern(#"(?m)^USER (?!root)\w+"#).matches(in: dockerfile).count == 1)
        #expect(dockerfile.contains("HEALTHCHECK"))
        #expect(dockerfile.contains("CMD [\"serve\"]"))
        for source in Pattern(#"(?m)^COPY (?!--)(\S+)"#).matches(in: dockerfile).map({ $0.groups[1] }) {
            #expect(Repository.exists(source), "\(source)")
        }
    }

    private func names(in text: String) -> [String] {
        Pattern(#"SALLYPORT_[A-Z_]*[A-Z]"#).matches(in: text).map { $0.groups[0] }
    }
}
