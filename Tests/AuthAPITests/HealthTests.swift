import AuthDomain
import AuthTesting
import Foundation
import JSON
import Primitives
import Testing

@testable import AuthAPI

@Suite("Health")
struct HealthTests {
    private let world = World()

    @Test("however many ask for readiness at once, few look: health is not limited, and a look costs the database")
    func readinessOfMany() async throws {
        let world = World()
        world.readiness.duration.withLock { $0 = .milliseconds(300) }
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<100 { group.addTask { try await world.send("GET", "/readyz").status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: 100))
        #expect(world.readiness.looks.withLock { $0 } <= 10)
        // Nobody is told what was seen before they asked.
        world.readiness.current.withLock { $0 = [ReadinessCheck("database", fault: "unreachable")] }
        #expect(try await world.send("GET", "/readyz").status == 503)
    }

    @Test("/livez answers whatever is down")
    func live() async throws {
        world.faults.failAlways(.dependency)
        world.readiness.current.withLock { $0 = [ReadinessCheck("database", fault: "unreachable")] }
        #expect(try await world.send("GET", "/livez").ok() == ["status": "alive"])
    }

    @Test("/readyz names each check")
    func ready() async throws {
        let body = try await world.send("GET", "/readyz").ok()
        #expect(body == ["status": "ready", "checks": ["database": "ok", "signing_key": "ok"]])
    }

    @Test("/readyz with a fault is a refusal that also names the checks")
    func unready() async throws {
        world.readiness.current.withLock {
            $0 = [ReadinessCheck("database", fault: "unreachable"), ReadinessCheck("signing_key")]
        }
        let body = try await world.send("GET", "/readyz")
            .isRefusal(503, "temporarily_unavailable", "dependency", "retry")
        #expect(body["status"] == "unready")
        #expect(body["checks"] == ["database": "unreachable", "signing_key": "ok"])
    }

    @Test("/metrics has the keys by purpose and state, with their ages, and no name of one")
    func keyMetrics() async throws {
        let now = world.clock.now()
        func record(_ kid: String, _ purpose: KeyPurpose, _ state: KeyState, _ age: Duration) -> KeyRecord {
            KeyRecord(
                kid: kid, purpose: purpose, state: state, createdAt: now - .days(400), stateAt: now - age,
                tokenLifetime: .zero)
        }
        world.keys.setInventory(
            KeyInventory(
                records: [
                    record("kid-one", .access, .current, .days(2)), record("kid-two", .access, .retired, .minutes(5)),
                    record("kid-three", .access, .retired, .minutes(9)), record("kid-four", .verdict, .current, .zero),
                ], unreadable: ["key:kid-two"]))
        let text = try await world.send("GET", "/metrics").text
        for line in [
            "# TYPE sallyport_keys gauge", "sallyport_keys{purpose=\"access\",state=\"current\"} 1.0",
            "sallyport_keys{purpose=\"access\",state=\"retired\"} 2.0",
            "sallyport_keys{purpose=\"access\",state=\"next\"} 0.0",
            "sallyport_key_state_age_seconds{purpose=\"access\",state=\"current\"} 172800.0",
            "sallyport_key_state_age_seconds{purpose=\"access\",state=\"retired\"} 540.0",
            "sallyport_key_state_age_seconds{purpose=\"verdict\",state=\"current\"} 0.0",
            "sallyport_unreadable_keys 1.0",
        ] { #expect(text.contains(line + "\n"), "\(line)") }
        #expect(text.components(separatedBy: "# TYPE sallyport_keys gauge").count == 2)
        #expect(!text.contains("kid-") && !text.contains(FixedKeys.keyring.signing.kid))
    }

    @Test("/version says name and version")
    func version() async throws {
        #expect(try await world.send("GET", "/version").ok() == ["name": "sallyport", "version": "1.2.3"])
    }
}
