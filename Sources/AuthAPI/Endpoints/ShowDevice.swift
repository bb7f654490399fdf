import AuthDomain
import HTTP
import JSON

/// `GET /auth/devices/{id}`. Another user's device does not exist here.
struct ShowDevice: Sendable {
    let devices: DeviceService

    var route: Route {
        Route(
            "showDevice", .get, "/auth/devices/{id}", "One of the user's devices.",
            inputs: [RouteInput("id", .path, isRequired: true)], answers: [.ok(.device)],
            errors: [.rejected(.notFound)],
            handler: .caller(handle))
    }

    private func handle(_ request: APIRequest, _ caller: Caller) async throws(APIFailure) -> HTTPResponse {
        let device = try await domain { () async throws(AuthFailure) in
            try await devices.device(request.parameter("id"), caller)
        }
        return .json(device.json(for: caller))
    }
}
