import AuthTesting
import Glibc
import Primitives
import EmbeddedPostgres
import Testing

@Suite("Outages of the database, over sockets", .blocking)
struct OutageTests {
    @Test("a start without a database answers 503 starting and /livez 200, and is ready once the database is there")
    func absentAtStart() throws {
        let cluster = try ScratchCluster.own()
        let port = try Self.freePort()
        let site = try Site(in: cluster)
        cluster.stop(.fast)
        let server = try site.start(settings: ["SALLYPORT_LISTEN": "127.0.0.1:\(port)"])
        let client = HTTPClient(port: port)
        #expect(waitUntil(limit: .seconds(20)) { (try? client.send("GET", "/livez").status) == 200 })
        for (method, target) in [
            ("GET", "/readyz"), ("GET", "/.well-known/jwks.json"), ("POST", "/auth/token"), ("GET", "/auth/devices"),
        ] {
            try expectUnavailable(client.send(method, target, body: []), among: ["starting"])
        }
        #expect(server.readyLine == nil && server.process.isRunning)
        #expect(waitUntil(limit: .seconds(10)) { server.process.errorText.contains("waiting for the database") })

        try cluster.start()
        try server.waitUntilReady()
        #expect(try client.send("GET", "/readyz").status == 200)
        let pair = try AuthClient(server).signedIn(site.tables.signIn().signed)
        #expect(try AuthClient(server).refreshed(pair.refresh).generation == 2)
    }

    @Test(
        "while the database is away everything that needs it is 503 with Retry-After, and it is back within 2 s of it",
        arguments: [true, false])
    func goneWhileServing(isCrash: Bool) throws {
        let cluster = try ScratchCluster.own()
        let site = try Site(in: cluster)
        let client = try AuthClient(site.serve())
        let session = try site.tables.signIn()
        let pair = try client.signedIn(session.signed)
        let keySet = try client.get("/.well-known/jwks.json")

        cluster.stop(isCrash ? .immediate : .fast)
        // The first may find its connection cut, the later ones that there is none.
        for _ in 0..<3 {
            let answers = try HTTPClient.together(5) { index in
                switch index {
                case 0: try client.refresh(pair.refresh)
                case 1: try client.exchange(session.signed)
                case 2: try client.get("/auth/token", bearer: session.signed)
                case 3: try client.get("/auth/devices", bearer: pair.access)
                default: try client.call("POST", "/auth/sign-out", bearer: pair.access)
                }
            }
            for answer in answers { try expectUnavailable(answer, among: ["dependency", "busy"]) }
        }
        #expect(try client.get("/livez").status == 200)
        #expect(try client.get("/readyz").status == 503)
        let during = try client.get("/.well-known/jwks.json")
        #expect(during.status == 200 && during.body == keySet.body)

        try cluster.start()
        let back = ContinuousClock.now
        var answers = [try client.refresh(pair.refresh)]
        while let last = answers.last, last.status != 200, ContinuousClock.now < back + .seconds(15) {
            usleep(20_000)
            answers.append(try client.refresh(pair.refresh))
        }
        #expect(ContinuousClock.now - back < .seconds(2))
        for answer in answers.dropLast() { try expectUnavailable(answer, among: ["dependency", "busy"]) }
        // No refusal moved the generation, and a lost answer is answered again.
        let next = try TokenPair(try #require(answers.last))
        #expect(try next.generation == 2)
        #expect(try client.refreshed(pair.refresh).refresh == next.refresh)
        #expect(waitUntil(limit: .seconds(2)) { (try? client.get("/readyz").status) == 200 })
        #expect(try client.exchange(session.signed).status == 200)
    }

    @Test("locked tables make a refresh wait or answer 503, never refuse, and the published keys stay there")
    func contention() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let pair = try client.signedIn(site.tables.signIn().signed)
        let database = site.database
        let answers = try HTTPClient.together(5) { index in
            if index == 0 {
                try database.sql("BEGIN; LOCK TABLE sallyport.device_sessions; SELECT pg_sleep(2); COMMIT;")
                return nil as HTTPAnswer?
            }
            usleep(300_000)
            return index == 1 ? try client.get("/.well-known/jwks.json") : try client.refresh(pair.refresh)
        }
        #expect(answers[1]?.status == 200)
        for answer in answers[2...].compactMap({ $0 }) where answer.status != 200 {
            try expectUnavailable(answer, among: ["dependency", "busy"])
        }
        #expect(try client.refreshed(pair.refresh).generation == 2)
    }

    /// One that nothing uses now.
    static func freePort() throws -> UInt16 {
        let probe = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(probe) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let code = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(probe, $0, length) == 0 ? getsockname(probe, $0, &length) : -1
            }
        }
        try #require(code == 0)
        return UInt16(bigEndian: address.sin_port)
    }
}
