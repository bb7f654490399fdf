import AuthDomain
import HTTP
import JSON
import Primitives
import Telemetry

/// `POST /auth/token`: a refresh token or a session token for new tokens.
///
/// Source: RFC 6749 §3.2 and §6, RFC 8693 §2.1, contract section 4.
struct GrantTokens: Sendable {
    let tokens: TokenService
    let metrics: Metrics

    /// The grants that are served. Compared as they are written.
    enum Grant: String, CaseIterable {
        case refreshToken = "refresh_token"
        case tokenExchange = "urn:ietf:params:oauth:grant-type:token-exchange"
    }

    private static let keySentence =
        "16 to 128 of A-Z, a-z, 0-9, dot, underscore and hyphen; belongs to the stored refresh token, kept on every retry."
    static let sessionTokenType = "urn:sallyport:token-type:session"

    var route: Route {
        Route(
            "grantTokens", .post, "/auth/token", "Refresh tokens, or exchange a session token for them.",
            accepts: [MediaType.form, MediaType.json],
            inputs: [
                RouteInput("grant_type", .content, isRequired: true, values: Grant.allCases.map(\.rawValue)),
                RouteInput("refresh_token", .content),
                RouteInput("subject_token", .content),
                RouteInput("subject_token_type", .content, values: [Self.sessionTokenType]),
                RouteInput("client_id", .content),
                RouteInput(
                    "scope", .content, about: "Of a refresh: never more than was granted, for this access token alone."),
                RouteInput("idempotency_key", .content, about: Self.keySentence),
                RouteInput("Idempotency-Key", .header, about: Self.keySentence),
            ] + DeviceParameters.inputs,
            answers: [.ok(.tokens)],
            errors: RefusalReason.allCases.filter { ![.stepUpRequired, .accessExpired, .accessRevoked].contains($0) }
                .map(APIErrorCode.refused) + Unavailability.allCases.map(APIErrorCode.unavailable)
                + [.malformed, .grantUnsupported, .scopeInvalid, .deviceMalformed].map(APIErrorCode.rejected),
            credentialPlace: .content, handler: .open(handle))
    }

    private func handle(_ request: APIRequest) async throws(APIFailure) -> HTTPResponse {
        let parameters = try ContentParameters(request)
        guard let grant = Grant(rawValue: try parameters.required("grant_type")) else {
            throw APIFailure(.grantUnsupported)
        }
        var body: JSONObject
        switch grant {
        case .refreshToken:
            let refresh = try refreshRequest(request, parameters)
            let answer = try await domain { () async throws(AuthFailure) in try await tokens.refresh(refresh) }
            if let outcome = answer.outcome { metrics.counter(APIMetrics.refreshes, [("outcome", outcome.word)]).add() }
            body = answer.json()
        case .tokenExchange:
            let exchange = try sessionRequest(request, parameters)
            body = try await domain { () async throws(AuthFailure) in try await tokens.exchange(exchange) }.json()
            // RFC 8693 §2.2.1: required.
            body["issued_token_type"] = "urn:ietf:params:oauth:token-type:access_token"
        }
        return .json(body, fields: TokenAnswer.fields)
    }

    private func refreshRequest(
        _ request: APIRequest, _ parameters: ContentParameters
    ) throws(APIFailure) -> TokenService.RefreshRequest {
        TokenService.RefreshRequest(
            token: try parameters.required("refresh_token"), key: try idempotencyKey(request, parameters),
            options: try options(parameters))
    }

    private func sessionRequest(
        _ request: APIRequest, _ parameters: ContentParameters
    ) throws(APIFailure) -> TokenService.SessionRequest {
        let token = try parameters.required("subject_token")
        guard try parameters.required("subject_token_type") == Self.sessionTokenType else {
            throw APIFailure(.malformed, "subject_token_type is not \(Self.sessionTokenType).")
        }
        let device = try DeviceParameters(request, content: parameters)
        return TokenService.SessionRequest(
            token: token, device: device.metadata, push: device.push, options: try options(parameters))
    }

    private func options(_ parameters: ContentParameters) throws(APIFailure) -> TokenService.Options {
        let clientID = try parameters.text("client_id")
        // RFC 6749 appendix A.1: visible ASCII and the blank.
        guard
            clientID.map({ id in
                id.utf8.count <= Limits.clientIDCharactersMax && id.utf8.allSatisfy { (0x20...0x7e).contains($0) }
            }) ?? true
        else { throw APIFailure(.malformed, "client_id is malformed.") }
        return TokenService.Options(clientID: clientID, scopes: try ScopeSet.requested(try parameters.text("scope")))
    }

    /// From the header field or the content; where both have one, they have to agree.
    private func idempotencyKey(
        _ request: APIRequest, _ parameters: ContentParameters
    ) throws(APIFailure) -> IdempotencyKey? {
        let field = try key(try request.field("Idempotency-Key"))
        let member = try key(try parameters.text("idempotency_key"))
        guard let field, let member else { return field ?? member }
        guard field == member else { throw APIFailure(.malformed, "Two different idempotency keys were sent.") }
        return field
    }

    private func key(_ text: String?) throws(APIFailure) -> IdempotencyKey? {
        guard let text else { return nil }
        return try parsed { () throws(RequestFault) in try IdempotencyKey(text) }
    }
}
