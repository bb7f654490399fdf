import AuthDomain
import HTTP

/// `POST /auth/devices/{id}/lost`: idempotent; fresh proof needed. The device's data is to be wiped when it next asks.
/// With `{"sessions":true}` the user's other sessions are revoked as well, those too that only the phone knows.
struct ReportDeviceLost: Sendable {
    let devices: DeviceService

    var route: Route {
        Route(
            "reportDeviceLost", .post, "/auth/devices/{id}/lost", "Report one of the user's devices as lost.",
            accepts: [MediaType.json],
            inputs: [RouteInput("id", .path, isRequired: true), RouteInput("sessions", .content, .boolean)],
            errors: [.rejected(.notFound), .rejected(.malformed), .refused(.stepUpRequired)], handler: .caller(handle))
    }

    private func handle(_ request: APIRequest, _ caller: Caller) async throws(APIFailure) -> HTTPResponse {
        let endsSessions = try request.flag("sessions")
        try await domain { () async throws(AuthFailure) in
            try await devices.reportLost(request.parameter("id"), endsSessions: endsSessions, caller)
        }
        return .noContent
    }
}
