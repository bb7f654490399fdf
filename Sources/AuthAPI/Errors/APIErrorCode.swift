package import AuthDomain
import HTTP
import Telemetry

/// Everything that is refused, once: the source of status, headers, body, log level, metrics and the documentation for
/// client developers (`RefusalTable`).
package enum APIErrorCode: Hashable, Sendable {
    /// A verdict on a credential. What the client is to do comes with the domain's `Refusal`.
    case refused(RefusalReason)
    /// A fault of ours, which is never a verdict.
    case unavailable(Unavailability)
    /// A request that cannot be served as it is.
    case rejected(RequestProblem)

    /// `error_reason`.
    package var reason: String { row.reason }

    var row: APIErrorRow {
        switch self {
        case .refused(let reason): reason.row
        case .unavailable(let cause): cause.row
        case .rejected(let problem): problem.row
        }
    }
}

extension APIErrorCode: CaseIterable {
    package static var allCases: [APIErrorCode] {
        RefusalReason.allCases.map(APIErrorCode.refused) + Unavailability.allCases.map(APIErrorCode.unavailable)
            + RequestProblem.allCases.map(APIErrorCode.rejected)
    }
}

/// What is wrong with a request before anybody's credential is judged.
package enum RequestProblem: Hashable, Sendable, CaseIterable {
    case malformed
    case grantUnsupported
    case scopeInvalid
    case deviceMalformed
    case tokenMissing
    /// More than one credential: two servers in a row could each believe another one.
    case tokenConflict
    /// Not one of the services that may ask.
    case clientUnknown
    case notFound
    case methodNotAllowed
    case mediaTypeUnsupported
    case contentTooLarge
    case targetTooLong
    case fieldsTooLarge
    case notImplemented
    case versionUnsupported
    case expectationUnknown
    case rateLimited
}

/// The member `error`. Source: RFC 6749 §5.2 and §4.1.2.1, RFC 6750 §3.1, RFC 9470 §3, RFC 8628 §3.5.
package enum OAuthError: String, Sendable {
    case invalidRequest = "invalid_request"
    case invalidClient = "invalid_client"
    case invalidGrant = "invalid_grant"
    case invalidScope = "invalid_scope"
    case invalidToken = "invalid_token"
    case unsupportedGrantType = "unsupported_grant_type"
    case accessDenied = "access_denied"
    case insufficientUserAuthentication = "insufficient_user_authentication"
    case temporarilyUnavailable = "temporarily_unavailable"
    case slowDown = "slow_down"
}

/// One row of contract section 5.
struct APIErrorRow: Sendable {
    /// `error_reason`.
    let reason: String
    let error: OAuthError
    let status: HTTPStatus
    /// `nil`: the domain's verdict says it.
    let action: ClientAction?
    /// `error_description`: safe to show, without quotes and backslashes, as it also stands in a challenge.
    let sentence: String
    let level: Logger.Level

    init(
        _ reason: String, _ status: HTTPStatus, _ error: OAuthError, _ action: ClientAction?, _ sentence: String,
        level: Logger.Level = .info
    ) {
        self.reason = reason
        self.error = error
        self.status = status
        self.action = action
        self.sentence = sentence
        self.level = level
    }

    /// The row as it is answered to a credential in the `Authorization` field: what RFC 6749 calls a bad grant is a bad
    /// token there (RFC 6750 §3.1).
    func answered(to place: CredentialPlace) -> APIErrorRow {
        guard place == .authorization, error == .invalidGrant else { return self }
        return APIErrorRow(reason, .unauthorized, .invalidToken, action, sentence, level: level)
    }

    /// A 401 always has a challenge (RFC 9110 §15.5.2), and nothing else does.
    var isChallenge: Bool { status == .unauthorized }

    /// Whether the same request may pass a little later.
    var hasRetryAfter: Bool { status == .serviceUnavailable || status == .tooManyRequests }
}

/// Where a route takes its credential from.
package enum CredentialPlace: Sendable {
    case content
    case authorization
}
