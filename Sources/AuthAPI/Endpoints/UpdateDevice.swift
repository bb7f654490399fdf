import AuthDomain
import HTTP
import JSON

/// `PATCH /auth/devices/{id}`: what a user may change of a device. Members that are not named here change nothing.
struct UpdateDevice: Sendable {
    let devices: DeviceService

    var route: Route {
        Route(
            "updateDevice", .patch, "/auth/devices/{id}", "Rename a device, or note its app's version.",
            accepts: [MediaType.json],
            inputs: [
                RouteInput("id", .path, isRequired: true), RouteInput("name", .content),
                RouteInput("app_version", .content),
            ],
            errors: [.rejected(.notFound), .rejected(.malformed)], handler: .caller(handle))
    }

    private func handle(_ request: APIRequest, _ caller: Caller) async throws(APIFailure) -> HTTPResponse {
        let members = try request.jsonObject()
        let name = try text("name", members)
        let appVersion = try text("app_version", members)
        let device = try await domain { () async throws(AuthFailure) in
            try await devices.update(request.parameter("id"), name: name, appVersion: appVersion, caller)
        }
        return .json(device.json(for: caller))
    }

    private func text(_ name: String, _ members: JSONObject) throws(APIFailure) -> String? {
        guard let value = members[name] else { return nil }
        guard let text = value.stringValue else { throw APIFailure(.malformed, "\(name) is not a string.") }
        return text
    }
}
