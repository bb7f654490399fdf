import HTTP
import JSON
import Telemetry

/// `GET /version`.
struct ShowVersion: Sendable {
    let version: ServerVersion

    var route: Route {
        Route(
            "showVersion", .get, "/version", "What runs here.", answers: [.ok(.version)], level: .debug,
            handler: .open(handle))
    }

    private func handle(_ request: APIRequest) async throws(APIFailure) -> HTTPResponse {
        .json(["name": .string(version.name), "version": .string(version.version)])
    }
}
