import AuthTesting
import Foundation
import Primitives
import EmbeddedPostgres

/// Two servers behind relays on one Postgres behind a relay, and everything that can be done to them.
package final class FaultWorld: Sendable {
    package enum Problem: Error {
        case noServer
        case programFailed(String)
    }

    let cluster: ScratchCluster
    let site: Site
    /// H1 and H2 of the plan.
    let relays: [CutRelay]
    /// D of the plan.
    let database: CutRelay
    let surroundings: Surroundings
    let ports: [UInt16]
    let random: SeededRandom
    private let servers = Locked<[ServerUnderTest?]>([nil, nil])
    /// Of the machines that the servers are thought to run on.
    let clocks: [SkewedClock]
    static let role = "fault_server"
    /// Of sessions that are in the servers' way.
    static let guest = "fault_guest"

    /// - Parameter program: the path of the `sallyport` to run.
    package init(program: String?, seed: UInt64) throws {
        random = SeededRandom(seed: seed)
        clocks = try (0..<2).map { _ in try SkewedClock() }
        // Durable: what is tested is that an answer outlives a crash.
        cluster = try ScratchCluster.own(durability: .durable, connectionsMax: 40)
        database = try CutRelay(to: cluster.port, .postgres, seed: seed &+ 1)
        // The virtual clock is a switch of a test target, and that has a loopback issuer.
        site = try Site(in: cluster, settings: ["SALLYPORT_ISSUER": "http://127.0.0.1:8080"], program: program)
        try site.database.sql(
            """
            CREATE ROLE \(Self.role) LOGIN;
            CREATE ROLE \(Self.guest) LOGIN;
            GRANT USAGE ON SCHEMA public, sallyport TO \(Self.role);
            GRANT ALL ON ALL TABLES IN SCHEMA public, sallyport TO \(Self.role);
            GRANT USAGE ON ALL SEQUENCES IN SCHEMA sallyport TO \(Self.role);
            """)
        ports = try (0..<2).map { _ in try Loopback.freePort() }
        relays = try ports.enumerated().map { try CutRelay(to: $1, .http, seed: seed &+ 2 &+ UInt64($0)) }
        surroundings = Surroundings(relays: relays)
        do {
            for index in 0..<2 { try start(index) }
            Self.current.withLock { $0 = self }
        } catch {
            close()
            throw error
        }
    }

    /// Of the run that goes on, for whoever has to end it from outside.
    private static let current = Locked<FaultWorld?>(nil)

    package static func closeCurrent() { current.withLock { $0 }?.close() }

    /// Stops everything; nothing of a run outlives it.
    package func close() {
        Self.current.withLock { $0 = nil }
        surroundings.end()
        for server in servers.withLock({ $0 }) { server?.kill() }
        for relay in relays + [database] { relay.close() }
        cluster.remove()
    }

    // MARK: The servers

    /// `nil` while it is down on purpose.
    func server(_ index: Int) -> ServerUnderTest? { servers.withLock { $0[index] } }

    /// Those that are up and meant to be.
    var serving: [(number: Int, port: UInt16)] {
        servers.withLock { servers in
            servers.enumerated().compactMap { index, server in server == nil ? nil : (index, ports[index]) }
        }
    }

    func start(_ index: Int) throws {
        let settings: [String: String?] = [
            "SALLYPORT_DATABASE_URL": "postgresql://\(Self.role)@127.0.0.1:\(database.port)/\(site.database.name)",
            "SALLYPORT_LISTEN": "127.0.0.1:\(ports[index])", "SALLYPORT_LOG_LEVEL": "warning",
            "SALLYPORT_ACCESS_TTL": "60s", "SALLYPORT_CONCURRENCY_WINDOW": "2s",
        ]
        let server = try site.serve(
            ["--test-target"], settings: settings.merging(clocks[index].environment) { own, _ in own })
        servers.withLock { $0[index] = server }
    }

    /// Takes it out of the list first: nobody is to count on it from now on.
    func take(_ index: Int) -> ServerUnderTest? {
        servers.withLock { servers in
            defer { servers[index] = nil }
            return servers[index]
        }
    }

    func process(_ index: Int) throws -> Int32 {
        guard let process = server(index)?.process.processID else { throw Problem.noServer }
        return process
    }

    /// Threads, descriptors and resident KiB of both servers.
    package var footprint: String {
        (0..<2).compactMap { index in
            guard let process = try? process(index) else { return nil }
            let files = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd").count) ?? 0
            let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
            func value(_ name: String) -> String {
                status.split(separator: "\n").first { $0.hasPrefix(name + ":") }
                    .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) } ?? "?"
            }
            return "server \(index + 1): \(value("Threads")) threads, \(files) descriptors, \(value("VmRSS"))"
        }.joined(separator: "; ")
    }

    // MARK: What has struck

    func rest(_ seconds: Double) { Thread.sleep(forTimeInterval: seconds) }

    /// Answers of 503 since then; a moment is left for those on their way.
    func refusals(since start: Double) -> Int {
        rest(0.2)
        return surroundings.count(since: start) { $0.status == 503 }
    }

    func slowAnswers(since start: Double, beyond seconds: Double) -> Int {
        surroundings.count(since: start) { $0.kind == .refresh && ($0.end - $0.start > seconds || $0.status == 503) }
    }

    // MARK: The network

    func cut(_ mode: CutRelay.Mode, for seconds: Double) -> Int {
        for relay in relays {
            _ = relay.takeStrikes()
            relay.mode = mode
        }
        rest(seconds)
        for relay in relays { relay.mode = .pass }
        return relays.reduce(0) { $0 + $1.takeStrikes() }
    }

    func cutDatabase(_ mode: CutRelay.Mode, for seconds: Double) -> Int {
        _ = database.takeStrikes()
        database.mode = mode
        rest(seconds)
        database.mode = .pass
        return database.takeStrikes()
    }
}

extension Loopback {
    static func freePort() throws -> UInt16 {
        let (descriptor, port) = try listen()
        close(descriptor)
        return port
    }
}
