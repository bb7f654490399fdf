import AuthDomain
import HTTP

/// `GET /auth/token`: an access token for a session of the identity store, as Better Auth's clients ask for one.
///
/// With device fields the device is registered and the session bound to it. The token also stands in `token` and in the
/// field `set-auth-jwt`, where those clients look.
struct IssueAccessToken: Sendable {
    let tokens: TokenService

    var route: Route {
        Route(
            "issueAccessToken", .get, "/auth/token", "An access token for the session that is sent as Bearer.",
            inputs: [
                RouteInput("scope", .query, about: "Never more than is granted by default; this access token alone.")
            ]
                + DeviceParameters.fieldNames.map { RouteInput($0, .header) },
            answers: [.ok(.sessionToken)],
            errors: [
                RefusalReason.sessionExpired, .sessionRevoked, .sessionUnknown, .signedOut, .deviceRevoked, .deviceLost,
                .deviceSuspended, .wipeOrdered, .accountDeleted, .userBanned, .tokenMalformed, .tokenForeign,
                .identityUnverified,
            ].map(APIErrorCode.refused) + Unavailability.allCases.map(APIErrorCode.unavailable)
                + [.malformed, .scopeInvalid, .deviceMalformed].map(APIErrorCode.rejected),
            handler: .session(handle))
    }

    private func handle(_ request: APIRequest, _ token: String) async throws(APIFailure) -> HTTPResponse {
        let scopes = try ScopeSet.requested(try QueryParameters(request).text("scope"))
        let device = try DeviceParameters(request)
        let mint = TokenService.SessionRequest(
            token: token, device: device.metadata, push: device.push, options: TokenService.Options(scopes: scopes))
        let answer = try await domain { () async throws(AuthFailure) in try await tokens.accessToken(mint) }
        var fields = TokenAnswer.fields
        fields.append("set-auth-jwt", answer.accessToken)
        return .json(answer.json(repeatsToken: true), fields: fields)
    }
}
