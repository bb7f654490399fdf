import AuthDomain
import HTTP

/// `DELETE /auth/devices/{id}`: idempotent. Another device needs fresh proof, one's own does not.
struct RevokeDevice: Sendable {
    let devices: DeviceService

    var route: Route {
        Route(
            "revokeDevice", .delete, "/auth/devices/{id}", "Revoke one of the user's devices.",
            inputs: [RouteInput("id", .path, isRequired: true)],
            errors: [.rejected(.notFound), .refused(.stepUpRequired)], handler: .caller(handle))
    }

    private func handle(_ request: APIRequest, _ caller: Caller) async throws(APIFailure) -> HTTPResponse {
        try await domain { () async throws(AuthFailure) in try await devices.revoke(request.parameter("id"), caller) }
        return .noContent
    }
}
