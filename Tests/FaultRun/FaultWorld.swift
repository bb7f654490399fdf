import AuthTesting
import Foundation
import Primitives
import SallyportServer

/// Two servers behind relays on one Postgres behind a relay, and everything that can be done to them.
package final class FaultWorld: Sendable {
    package enum Problem: Error {
        case noServer
    }

    let cluster: ScratchCluster
    let site: Site
    let relays: [CutRelay]
    let database: CutRelay
    let surroundings: Surroundings
    private let servers: Locked<[ServerUnderTest]>
    private let ports: [UInt16]
    private static let role = "fault_server"

    package init() throws {
        cluster = try ScratchCluster.own()
        database = try CutRelay(to: cluster.port)
        site = try Site(in: cluster)
        try site.database.sql(
            """
            CREATE ROLE \(Self.role) LOGIN;
            GRANT ALL ON ALL TABLES IN SCHEMA public, sallyport TO \(Self.role);
            GRANT USAGE ON SCHEMA public, sallyport TO \(Self.role);
            GRANT USAGE ON ALL SEQUENCES IN SCHEMA sallyport TO \(Self.role);
            """)
        ports = try (0..<2).map { _ in try Loopback.freePort() }
        relays = try ports.map { try CutRelay(to: $0) }
        let running = Locked<[ServerUnderTest]>([])
        servers = running
        surroundings = Surroundings(relays: relays) {
            running.withLock { $0 }.filter { $0.process.isRunning && $0.readyLine != nil }
                .compactMap { try? $0.client.port }
        }
        for index in 0..<2 {
            let server = try serve(index)
            running.withLock { $0.append(server) }
        }
    }

    /// Stops everything; nothing of a run outlives it.
    package func close() {
        surroundings.end()
        for server in servers.withLock({ $0 }) { server.kill() }
        for relay in relays + [database] { relay.close() }
        cluster.stop(.immediate)
    }

    private func serve(_ index: Int) throws -> ServerUnderTest {
        try site.serve(
            [],
            settings: [
                "SALLYPORT_DATABASE_URL": "postgresql://\(Self.role)@127.0.0.1:\(database.port)/\(site.database.name)",
                "SALLYPORT_LISTEN": "127.0.0.1:\(ports[index])", "SALLYPORT_LOG_LEVEL": "warning",
                "SALLYPORT_CONCURRENCY_WINDOW": "2s",
            ])
    }

    func server(_ index: Int) -> ServerUnderTest { servers.withLock { $0[index] } }

    // MARK: The network

    func setRelays(_ mode: CutRelay.Mode) {
        for relay in relays { relay.mode = mode }
    }

    func cut(_ mode: CutRelay.Mode, for seconds: Double) -> Int {
        _ = relays.map { $0.takeStrikes() }
        setRelays(mode)
        Thread.sleep(forTimeInterval: seconds)
        setRelays(.pass)
        return relays.reduce(0) { $0 + $1.takeStrikes() }
    }

    func cutDatabase(_ mode: CutRelay.Mode, for seconds: Double) -> Int {
        _ = database.takeStrikes()
        database.mode = mode
        Thread.sleep(forTimeInterval: seconds)
        database.mode = .pass
        return database.takeStrikes()
    }

    // MARK: The database

    func terminateBackends(times: Int, within seconds: Double) throws -> Int {
        var strikes = 0
        for _ in 0..<times {
            let rows = try site.database.sql(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = '\(Self.role)'")
            strikes += Int(rows.first?.first ?? "") ?? 0
            Thread.sleep(forTimeInterval: seconds / Double(times))
        }
        return strikes
    }

    func crashDatabase(for seconds: Double) throws -> Int {
        cluster.stop(.immediate)
        Thread.sleep(forTimeInterval: seconds)
        try cluster.start()
        return 1
    }

    func makeReadOnly(for seconds: Double) throws -> Int {
        let start = surroundings.now
        try cluster.sql("ALTER SYSTEM SET default_transaction_read_only = on")
        try cluster.sql("SELECT pg_reload_conf()")
        Thread.sleep(forTimeInterval: seconds)
        // The session that resets it has to be allowed to.
        try cluster.sql("SET default_transaction_read_only = off; ALTER SYSTEM RESET default_transaction_read_only")
        try cluster.sql("SELECT pg_reload_conf()")
        return refusals(since: start)
    }

    func holdLocks(for seconds: Double) throws -> Int {
        try site.database.sql(
            """
            BEGIN;
            SELECT id FROM sallyport.device_sessions WHERE ended_at IS NULL ORDER BY id LIMIT 5 FOR UPDATE;
            SELECT pg_sleep(\(seconds));
            COMMIT;
            """)
        let start = surroundings.now - seconds
        return surroundings.history.operations.filter { $0.start > start && $0.end - $0.start > 0.5 }.count
    }

    /// Sign-ins, refreshes and sign-outs everywhere of the same three users at once.
    func crossWrites(for seconds: Double) throws -> Int {
        let end = surroundings.now + seconds
        let sessions = try (0..<3).map { _ in try site.tables.signIn().signed }
        let counts = try HTTPClient.together(6) { index -> Int in
            var count = 0
            while self.surroundings.now < end, count < 200 {
                let device = SimulatedDevice(
                    self.surroundings, session: sessions[(index + count) % 3],
                    installation: "cross-installation-\(count % 4)", hasKeys: false)
                device.signIn()
                device.refresh(copies: 2)
                count += 1
            }
            return count
        }
        return counts.reduce(0, +)
    }

    func exhaustConnections(for seconds: Double) throws -> Int {
        let start = surroundings.now
        try site.database.sql("ALTER ROLE \(Self.role) CONNECTION LIMIT 1")
        _ = try terminateBackends(times: 1, within: 0.1)
        Thread.sleep(forTimeInterval: seconds)
        try site.database.sql("ALTER ROLE \(Self.role) CONNECTION LIMIT -1")
        return refusals(since: start)
    }

    /// Answers of 503 since then: a fault that makes none did not strike. A moment is left for those on their way.
    private func refusals(since start: Double) -> Int {
        Thread.sleep(forTimeInterval: 0.3)
        return surroundings.history.operations.filter { $0.status == 503 && $0.end > start }.count
    }

    // MARK: The servers

    /// Kills each server in turn and starts it anew on its port.
    func killServers() throws -> Int {
        for index in 0..<2 {
            server(index).kill()
            let next = try serve(index)
            servers.withLock { $0[index] = next }
            Thread.sleep(forTimeInterval: 0.5)
        }
        return 2
    }

    /// Restarts each server in turn as a balancer sees it: nothing is sent to one that drains or is not ready.
    func rollServers() throws -> Int {
        for index in 0..<2 {
            relays[index].target = ports[1 - index]
            try server(index).stop()
            let next = try serve(index)
            servers.withLock { $0[index] = next }
            relays[index].target = ports[index]
            Thread.sleep(forTimeInterval: 0.5)
        }
        return 2
    }

    func pauseServer(for seconds: Double) -> Int {
        server(0).process.send(SIGSTOP)
        Thread.sleep(forTimeInterval: seconds)
        server(0).process.send(SIGCONT)
        let start = surroundings.now - seconds
        Thread.sleep(forTimeInterval: 0.5)
        return surroundings.history.operations.filter { $0.start > start && $0.end - $0.start > seconds / 4 }.count
    }

    func limitDescriptors(for seconds: Double) throws -> Int {
        guard let process = server(1).process.processID else { throw Problem.noServer }
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count
        try setLimit(open + 8, of: process)
        let idle = (0..<100).compactMap { _ in Loopback.connect(to: ports[1]) }
        Thread.sleep(forTimeInterval: seconds)
        try setLimit(4_096, of: process)
        // More connections than descriptors: those that could not be accepted were closed by the server.
        var shed = 0
        for descriptor in idle {
            var byte: UInt8 = 0
            if recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) == 0 { shed += 1 }
            Foundation.close(descriptor)
        }
        return shed
    }

    private func setLimit(_ count: Int, of process: Int32) throws {
        let outcome = try ChildProcess(["/usr/bin/prlimit", "--pid", "\(process)", "--nofile=\(count):4096"])
            .run(limit: .seconds(5))
        guard outcome.status == 0 else {
            throw EmbeddedPostgresError.programFailed(name: "prlimit", reason: outcome.errors)
        }
    }

    /// Three hundred heads that come one byte at a time.
    func sendSlowly(for seconds: Double) -> Int {
        let slow = (0..<300).compactMap { Loopback.connect(to: ports[$0 % 2]) }
        let head = Array("GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ".utf8)
        var sent = 0
        let end = surroundings.now + seconds
        while surroundings.now < end {
            for descriptor in slow {
                _ = Loopback.send(sent < head.count ? head[sent...sent] : [UInt8(ascii: "a")][...], to: descriptor)
            }
            sent += 1
            Thread.sleep(forTimeInterval: 0.25)
        }
        for descriptor in slow { Foundation.close(descriptor) }
        return slow.count
    }

    /// Garbage as fast as six clients can send it.
    func flood(for seconds: Double) -> Int {
        let end = surroundings.now + seconds
        let counts = try? HTTPClient.together(6) { index -> Int in
            var count = 0
            while self.surroundings.now < end, count < 20_000 {
                let client = HTTPClient(port: self.ports[index % 2])
                _ = try? client.send(
                    "POST", "/auth/token", fields: [("Content-Type", "application/x-www-form-urlencoded")],
                    body: Array("grant_type=refresh_token&refresh_token=garbage".utf8))
                count += 1
            }
            return count
        }
        return (counts ?? []).reduce(0, +)
    }
}

extension Loopback {
    static func freePort() throws -> UInt16 {
        let (descriptor, port) = try listen()
        close(descriptor)
        return port
    }
}
