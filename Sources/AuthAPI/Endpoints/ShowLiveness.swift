import HTTP
import JSON
import Telemetry

/// `GET /livez`: the process answers. It asks nothing else, so that an outage of the database restarts no server.
struct ShowLiveness: Sendable {
    var route: Route {
        Route("showLiveness", .get, "/livez", "Whether the process answers.", level: .debug, handler: .open(handle))
    }

    private func handle(_ request: APIRequest) async throws(APIFailure) -> HTTPResponse {
        .json(["status": "alive"])
    }
}
