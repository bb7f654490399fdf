import AuthDomain
import HTTP
import JSON
import Primitives

/// `GET /auth/devices/current`: the device that the token was issued to, and how long it may go on without us.
struct ShowCurrentDevice: Sendable {
    let services: APIServices

    var route: Route {
        Route(
            "showCurrentDevice", .get, "/auth/devices/current", "The caller's own device and its offline policy.",
            answers: [.ok(.currentDevice)], errors: [.rejected(.notFound)], handler: .caller(handle))
    }

    private func handle(_ request: APIRequest, _ caller: Caller) async throws(APIFailure) -> HTTPResponse {
        guard let id = caller.deviceID else { throw APIFailure(.notFound, "The token was issued without a device.") }
        let device = try await domain { () async throws(AuthFailure) in
            try await services.devices.device(id.description, caller)
        }
        var body = device.json(for: caller)
        // A token without a refresh token beside it promises nothing for the time after its end.
        if let session = caller.deviceSession {
            body["offline"] = .object(session.offline(services.policy).json(at: services.clock.now()))
        }
        return .json(body)
    }
}
