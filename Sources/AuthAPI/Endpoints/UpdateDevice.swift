import AuthDomain
import HTTP
import JSON

/// `PATCH /auth/devices/{id}`: what a user may change of a device. `{"lost":false}` needs fresh proof; members that are
/// not named here change nothing.
struct UpdateDevice: Sendable {
    let devices: DeviceService

    var route: Route {
        Route(
            "updateDevice", .patch, "/auth/devices/{id}",
            "Rename a device, note its app's version, or say that it was found.",
            accepts: [MediaType.json],
            inputs: [
                RouteInput("id", .path, isRequired: true), RouteInput("name", .content),
                RouteInput("app_version", .content), RouteInput("lost", .content, .boolean),
            ],
            answers: [.ok(.device)],
            errors: [.rejected(.notFound), .rejected(.malformed), .refused(.stepUpRequired)], handler: .caller(handle))
    }

    private func handle(_ request: APIRequest, _ caller: Caller) async throws(APIFailure) -> HTTPResponse {
        let members = try request.jsonObject()
        let name = try text("name", members)
        let appVersion = try text("app_version", members)
        if let lost = members["lost"] {
            // Only the way back: what makes a device lost is an act of its own.
            guard lost.boolValue == false else { throw APIFailure(.malformed, "lost is not false.") }
            try await domain { () async throws(AuthFailure) in
                try await devices.clearLost(request.parameter("id"), caller)
            }
        }
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
