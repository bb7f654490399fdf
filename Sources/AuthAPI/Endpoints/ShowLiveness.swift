import HTTP
import JSON
import Telemetry

/// `GET /livez`: the process answers. It asks nothing else, so that an outage of the database restarts no server.
struct ShowLiveness: Sendable {
    static let path = "/livez"
    static let answer = HTTPResponse.json(["status": "alive"])

    var route: Route {
        Route(
            "showLiveness", .get, RoutePattern(stringLiteral: Self.path), "Whether the process answers.",
            answers: [.ok(.liveness)], level: .debug,
            handler: .open(handle))
    }

    private func handle(_ request: APIRequest) async throws(APIFailure) -> HTTPResponse {
        Self.answer
    }
}
