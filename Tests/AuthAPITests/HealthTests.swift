import AuthDomain
import AuthTesting
import JSON
import Primitives
import Testing

@testable import AuthAPI

@Suite("Health")
struct HealthTests {
    private let world = World()

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

    @Test("/version says name and version")
    func version() async throws {
        #expect(try await world.send("GET", "/version").ok() == ["name": "sallyport", "version": "1.2.3"])
    }
}
