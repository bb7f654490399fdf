import AuthDomain
import HTTP
import JSON

/// `POST /auth/sign-out`: ends the caller's own session; with `{"everywhere":true}` and fresh proof all of the user's.
struct SignOut: Sendable {
    let devices: DeviceService

    var route: Route {
        Route(
            "signOut", .post, "/auth/sign-out", "End the caller's session, or all of the user's.",
            accepts: [MediaType.json], inputs: [RouteInput("everywhere", .content, .boolean)],
            errors: [.rejected(.malformed), .refused(.stepUpRequired)], handler: .caller(handle))
    }

    private func handle(_ request: APIRequest, _ caller: Caller) async throws(APIFailure) -> HTTPResponse {
        let isEverywhere = try request.flag("everywhere")
        try await domain { () async throws(AuthFailure) in
            try await devices.signOut(caller, everywhere: isEverywhere)
        }
        return .noContent
    }
}
