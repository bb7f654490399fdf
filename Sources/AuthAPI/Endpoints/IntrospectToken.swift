import AuthDomain
import HTTP
import JSON
import Primitives

/// `POST /auth/introspect`: whether a token is live at this moment, and what it says. For resource servers.
///
/// Source: RFC 7662 §2. What is not live is `{"active":false}` and nothing else (§2.2).
struct IntrospectToken: Sendable {
    let issued: IssuedTokens

    var route: Route {
        Route(
            "introspectToken", .post, "/auth/introspect", "Whether a token is live, for resource servers (RFC 7662).",
            accepts: [MediaType.form, MediaType.json],
            inputs: [RouteInput("token", .content, isRequired: true), RouteInput("token_type_hint", .content)],
            answers: [.ok(.introspection)],
            errors: [.rejected(.malformed)] + Unavailability.allCases.map(APIErrorCode.unavailable),
            handler: .resourceServer(handle))
    }

    private func handle(_ request: APIRequest) async throws(APIFailure) -> HTTPResponse {
        let parameters = try ContentParameters(request)
        let token = try parameters.required("token")
        _ = try parameters.text("token_type_hint")
        let live = try await domain { () async throws(AuthFailure) in try await issued.inspect(token) }
        return .json(live?.json ?? ["active": false], fields: TokenAnswer.fields)
    }
}

extension LiveToken {
    /// The operator's own claims may not say anything about the answer itself.
    fileprivate var json: JSONObject {
        var body: JSONObject = ["active": true]
        if kind == .access { body["token_type"] = "Bearer" }
        for (name, value) in claims.members where name != "active" && name != "token_type" { body[name] = value }
        return body
    }
}
