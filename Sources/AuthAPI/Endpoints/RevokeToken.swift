import AuthDomain
import HTTP
import Primitives

/// `POST /auth/revoke`: a refresh token ends its device session, an access token ends alone.
///
/// Source: RFC 7009 §2. A token that is not known here is no error, and a hint is not needed.
struct RevokeToken: Sendable {
    let issued: IssuedTokens

    var route: Route {
        Route(
            "revokeToken", .post, "/auth/revoke", "Give a refresh or an access token up (RFC 7009).",
            accepts: [MediaType.form, MediaType.json],
            inputs: [
                RouteInput("token", .content, isRequired: true), RouteInput("token_type_hint", .content),
                RouteInput("client_id", .content),
            ],
            answers: [.empty],
            errors: [.rejected(.malformed), .refused(.tokenForeign)]
                + Unavailability.allCases.map(APIErrorCode.unavailable),
            credentialPlace: .content, handler: .open(handle))
    }

    private func handle(_ request: APIRequest) async throws(APIFailure) -> HTTPResponse {
        let parameters = try ContentParameters(request)
        let token = try parameters.required("token")
        _ = try parameters.text("token_type_hint")
        let clientID = try parameters.text("client_id")
        try await domain { () async throws(AuthFailure) in try await issued.revoke(token, clientID: clientID) }
        return HTTPResponse(status: .ok)
    }
}
