import AuthDomain
import HTTP
import JSON
import Telemetry

/// `GET /readyz`: whether requests should come here, and if not, what is missing.
struct ShowReadiness: Sendable {
    let readiness: any ReadinessSource

    var route: Route {
        Route(
            "showReadiness", .get, "/readyz", "Whether the server can serve, check by check.",
            errors: [.unavailable(.dependency)], level: .debug, handler: .open(handle))
    }

    private func handle(_ request: APIRequest) async throws(APIFailure) -> HTTPResponse {
        let checks = await readiness.checks()
        var shown = JSONObject()
        for check in checks { shown[check.name] = .string(check.fault ?? "ok") }
        guard checks.allSatisfy({ $0.fault == nil }) else {
            var failure = APIFailure(.unavailable(.dependency))
            failure.members = ["status": "unready", "checks": .object(shown)]
            throw failure
        }
        return .json(["status": "ready", "checks": .object(shown)])
    }
}
