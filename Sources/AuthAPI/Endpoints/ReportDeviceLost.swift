import AuthDomain
import HTTP

/// `POST /auth/devices/{id}/lost`: idempotent; fresh proof needed. The device's data is to be wiped when it next asks.
struct ReportDeviceLost: Sendable {
    let devices: DeviceService

    var route: Route {
        Route(
            "reportDeviceLost", .post, "/auth/devices/{id}/lost", "Report one of the user's devices as lost.",
            inputs: [RouteInput("id", .path, isRequired: true)],
            errors: [.rejected(.notFound), .refused(.stepUpRequired)], handler: .caller(handle))
    }

    private func handle(_ request: APIRequest, _ caller: Caller) async throws(APIFailure) -> HTTPResponse {
        try await domain { () async throws(AuthFailure) in
            try await devices.reportLost(request.parameter("id"), caller)
        }
        return .noContent
    }
}
