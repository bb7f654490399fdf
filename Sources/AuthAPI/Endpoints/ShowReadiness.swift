import AuthDomain
import HTTP
import JSON
import Telemetry

/// `GET /readyz`: whether requests should come here, and if not, what is missing.
struct ShowReadiness: Sendable {
    static let path = "/readyz"

    private let readiness: SharedReadiness

    init(readiness: any ReadinessSource) {
        self.readiness = SharedReadiness(readiness)
    }

    var route: Route {
        Route(
            "showReadiness", .get, RoutePattern(stringLiteral: Self.path),
            "Whether the server can serve, check by check.",
            answers: [.ok(.readiness)],
            errors: [.unavailable(.dependency)], level: .debug, handler: .open(handle))
    }

    private func handle(_ request: APIRequest) async throws(APIFailure) -> HTTPResponse {
        let checks = await readiness.checks()
        guard checks.allSatisfy({ $0.fault == nil }) else { throw Self.failure(checks) }
        return .json(["status": "ready", "checks": .object(Self.shown(checks))])
    }

    static func failure(_ checks: [ReadinessCheck]) -> APIFailure {
        var failure = APIFailure(.unavailable(checks.contains(.stopping) ? .stopping : .dependency))
        failure.members = ["status": "unready", "checks": .object(shown(checks))]
        return failure
    }

    private static func shown(_ checks: [ReadinessCheck]) -> JSONObject {
        var shown = JSONObject()
        for check in checks { shown[check.name] = .string(check.fault ?? check.warning ?? "ok") }
        return shown
    }
}
