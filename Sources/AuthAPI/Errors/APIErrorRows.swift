import AuthDomain
import HTTP
import Telemetry

extension RefusalReason {
    /// As `POST /auth/token` answers it.
    var row: APIErrorRow {
        switch self {
        case .refreshExpired: grant("The refresh token or its device session is past its end.")
        case .refreshReused: grant("The refresh token was used before; its device session has been ended.")
        case .refreshStale: grant("The refresh token has been replaced; use the newest stored one.")
        case .sessionExpired:
            APIErrorRow(rawValue, .unauthorized, .invalidToken, nil, "The session has expired.")
        case .sessionRevoked: grant("The session has been revoked.")
        case .sessionUnknown: grant("The session is not known.")
        case .superseded: grant("Newer sign-ins have taken the place of this one.")
        case .signedOut: grant("This device has been signed out.")
        case .deviceRevoked: grant("The device has been revoked.")
        case .deviceLost: grant("The device has been reported lost.")
        case .deviceSuspended: grant("The device is suspended.")
        case .wipeOrdered: grant("The data of this device is to be deleted.")
        case .accountDeleted: grant("The account does not exist any more.")
        case .userBanned: grant("The account is suspended.")
        case .tokenMalformed: grant("The token is malformed.")
        case .tokenForeign: grant("The token was not issued for this use by this server.")
        case .identityUnverified:
            APIErrorRow(rawValue, .forbidden, .accessDenied, nil, "The account's address is not verified yet.")
        case .stepUpRequired:
            APIErrorRow(
                rawValue, .unauthorized, .insufficientUserAuthentication, nil, "A more recent sign-in is needed.")
        case .accessExpired:
            APIErrorRow(rawValue, .unauthorized, .invalidToken, nil, "The access token has expired.")
        case .accessRevoked:
            APIErrorRow(rawValue, .unauthorized, .invalidToken, nil, "The access token has been revoked.")
        }
    }

    private func grant(_ sentence: String) -> APIErrorRow {
        APIErrorRow(rawValue, .badRequest, .invalidGrant, nil, sentence)
    }
}

extension Unavailability {
    var row: APIErrorRow {
        switch self {
        case .busy: row("busy", "The server is busy; try again.")
        case .dependency: row("dependency", "Something that the server needs does not answer; try again.")
        // For a client it is the same; the operator sees it in the log and in the readiness checks.
        case .misconfigured:
            APIErrorRow(
                "dependency", .serviceUnavailable, .temporarilyUnavailable, .retry,
                "Something that the server needs does not answer; try again.", level: .error)
        case .starting: row("starting", "The server is starting; try again.")
        case .stopping: row("stopping", "The server is stopping; try again.")
        }
    }

    private func row(_ reason: String, _ sentence: String) -> APIErrorRow {
        APIErrorRow(
            reason, .serviceUnavailable, .temporarilyUnavailable, .retry, sentence, level: .warning)
    }
}

extension RequestProblem {
    var row: APIErrorRow {
        switch self {
        case .malformed: bad("request_malformed", .badRequest, "The request is malformed.")
        case .grantUnsupported:
            APIErrorRow(
                "grant_unsupported", .badRequest, .unsupportedGrantType, ClientAction.none,
                "The grant type is not supported.")
        case .scopeInvalid:
            APIErrorRow(
                "scope_invalid", .badRequest, .invalidScope, ClientAction.none,
                "The scope is malformed or more than may be had.")
        case .deviceMalformed: bad("device_malformed", .badRequest, "The description of the device is malformed.")
        case .tokenMissing:
            APIErrorRow("token_missing", .unauthorized, .invalidToken, .reauth, "A bearer token is needed.")
        case .tokenConflict: bad("token_conflict", .badRequest, "There is more than one credential in the request.")
        case .clientUnknown:
            APIErrorRow(
                "client_unknown", .unauthorized, .invalidClient, ClientAction.none,
                "The credentials of a resource server are needed.")
        case .notFound: bad("not_found", .notFound, "There is nothing here.")
        case .methodNotAllowed: bad("method_not_allowed", .methodNotAllowed, "The method is not allowed here.")
        case .mediaTypeUnsupported:
            bad("unsupported_media_type", .unsupportedMediaType, "The media type of the content is not supported.")
        case .contentTooLarge: bad("request_too_large", .contentTooLarge, "The content is too large.")
        case .targetTooLong: bad("uri_too_long", .uriTooLong, "The request target is too long.")
        case .fieldsTooLarge:
            bad("fields_too_large", .requestHeaderFieldsTooLarge, "The header fields are too large or too many.")
        case .notImplemented: bad("not_implemented", .notImplemented, "The request asks for something unknown.")
        case .versionUnsupported:
            bad("version_unsupported", .httpVersionNotSupported, "The version of HTTP is not supported.")
        case .expectationUnknown: bad("expectation_unknown", .expectationFailed, "The expectation is not known.")
        case .rateLimited:
            APIErrorRow("rate_limited", .tooManyRequests, .slowDown, .retry, "There are too many requests; wait.")
        }
    }

    private func bad(_ reason: String, _ status: HTTPStatus, _ sentence: String) -> APIErrorRow {
        APIErrorRow(reason, status, .invalidRequest, ClientAction.none, sentence)
    }
}
