import AuthDomain
import HTTP
import Testing

@testable import AuthAPI

@Suite("Error catalogue")
struct ErrorCatalogueTests {
    /// Contract section 5, row by row: as `POST /auth/token` answers.
    @Test(
        "each verdict has its status, error code and careful action",
        arguments: [
            (RefusalReason.refreshExpired, 400, "invalid_grant", ClientAction.lock),
            (.sessionExpired, 401, "invalid_token", .lock),
            (.refreshReused, 400, "invalid_grant", .lock),
            (.signedOut, 400, "invalid_grant", .lock),
            (.sessionRevoked, 400, "invalid_grant", .lock),
            (.superseded, 400, "invalid_grant", .lock),
            (.deviceRevoked, 400, "invalid_grant", .wipe),
            (.deviceLost, 400, "invalid_grant", .wipe),
            (.wipeOrdered, 400, "invalid_grant", .wipe),
            (.accountDeleted, 400, "invalid_grant", .lock),
            (.userBanned, 400, "invalid_grant", .lock),
            (.deviceSuspended, 400, "invalid_grant", .lock),
            (.tokenMalformed, 400, "invalid_grant", .reauth),
            (.tokenForeign, 400, "invalid_grant", .reauth),
            (.sessionUnknown, 400, "invalid_grant", .reauth),
            (.refreshStale, 400, "invalid_grant", .refresh),
            (.identityUnverified, 403, "access_denied", .verify),
            (.stepUpRequired, 401, "insufficient_user_authentication", .stepUp),
            (.accessExpired, 401, "invalid_token", .refresh),
            (.accessRevoked, 401, "invalid_token", .refresh),
        ])
    func verdicts(reason: RefusalReason, status: Int, error: String, action: ClientAction) {
        let row = APIErrorCode.refused(reason).row
        #expect(row.status.code == status)
        #expect(row.error.rawValue == error)
        #expect(row.reason == reason.rawValue)
        #expect(row.action == nil)
        #expect(VerdictPolicy.careful.action(for: reason, isDeviceHeld: true) == action)
    }

    @Test("the strict policy wipes by a person's will alone", arguments: RefusalReason.allCases)
    func strict(reason: RefusalReason) {
        let wiping: [RefusalReason] = [
            .signedOut, .sessionRevoked, .accountDeleted, .deviceRevoked, .deviceLost, .wipeOrdered,
        ]
        let action = VerdictPolicy.strict.action(for: reason, isDeviceHeld: true)
        #expect((action == .wipe) == wiping.contains(reason))
    }

    @Test("an outage is 503 and asks for another try", arguments: Unavailability.allCases)
    func outages(cause: Unavailability) {
        let row = APIErrorCode.unavailable(cause).row
        #expect(row.status == .serviceUnavailable)
        #expect(row.error == .temporarilyUnavailable)
        #expect(row.action == .retry)
        #expect(row.hasRetryAfter)
        #expect(["busy", "dependency", "starting", "stopping"].contains(row.reason))
    }

    @Test(
        "a request that cannot be served has its status and code",
        arguments: [
            (RequestProblem.malformed, 400, "invalid_request", "request_malformed"),
            (.grantUnsupported, 400, "unsupported_grant_type", "grant_unsupported"),
            (.scopeInvalid, 400, "invalid_scope", "scope_invalid"),
            (.deviceMalformed, 400, "invalid_request", "device_malformed"),
            (.tokenMissing, 401, "invalid_token", "token_missing"),
            (.clientUnknown, 401, "invalid_client", "client_unknown"),
            (.tokenConflict, 400, "invalid_request", "token_conflict"),
            (.notFound, 404, "invalid_request", "not_found"),
            (.methodNotAllowed, 405, "invalid_request", "method_not_allowed"),
            (.mediaTypeUnsupported, 415, "invalid_request", "unsupported_media_type"),
            (.contentTooLarge, 413, "invalid_request", "request_too_large"),
            (.targetTooLong, 414, "invalid_request", "uri_too_long"),
            (.fieldsTooLarge, 431, "invalid_request", "fields_too_large"),
            (.notImplemented, 501, "invalid_request", "not_implemented"),
            (.versionUnsupported, 505, "invalid_request", "version_unsupported"),
            (.expectationUnknown, 417, "invalid_request", "expectation_unknown"),
            (.rateLimited, 429, "slow_down", "rate_limited"),
        ])
    func problems(problem: RequestProblem, status: Int, error: String, reason: String) {
        let row = APIErrorCode.rejected(problem).row
        #expect(row.status.code == status)
        #expect(row.error.rawValue == error)
        #expect(row.reason == reason)
    }

    @Test("what is no verdict never locks and never wipes", arguments: APIErrorCode.allCases)
    func neverLocks(code: APIErrorCode) throws {
        for place in [CredentialPlace.content, .authorization] {
            let row = code.row.answered(to: place)
            if case .refused = code {
                #expect((400...403).contains(row.status.code))
                continue
            }
            let action = try #require(row.action)
            #expect([.none, .retry, .reauth].contains(action))
            #expect(row.status.code < 500 || action == .retry || action == ClientAction.none)
        }
    }

    @Test(
        "a credential of the Authorization field is a bad token, never a bad grant", arguments: RefusalReason.allCases)
    func bearer(reason: RefusalReason) {
        let row = APIErrorCode.refused(reason).row.answered(to: .authorization)
        switch reason {
        case .identityUnverified: #expect(row.status == .forbidden)
        case .stepUpRequired: #expect(row.error == .insufficientUserAuthentication && row.status == .unauthorized)
        default: #expect(row.error == .invalidToken && row.status == .unauthorized)
        }
    }

    @Test(
        "a sentence can stand in a quoted string, ends as one, and a reason is a word", arguments: APIErrorCode.allCases
    )
    func sentences(code: APIErrorCode) {
        let row = code.row
        #expect(row.sentence.hasSuffix(".") && row.sentence.utf8.allSatisfy { (0x20...0x7e).contains($0) })
        #expect(!row.sentence.contains("\"") && !row.sentence.contains("\\"))
        #expect(
            row.reason.utf8.allSatisfy {
                $0 == UInt8(ascii: "_") || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
            })
    }

    @Test("one reason stands for one thing, but for the two causes that a client cannot tell apart")
    func unique() {
        let reasons = APIErrorCode.allCases.map(\.row.reason)
        #expect(reasons.count - Set(reasons).count == 1)
        #expect(APIErrorCode.unavailable(.misconfigured).row.reason == "dependency")
    }

    @Test(
        "what the parser refuses has the parser's own status",
        arguments: [
            HTTPRefusal.unacceptable(.malformed(.host)), .unacceptable(.bodyTooLarge), .unacceptable(.targetTooLong),
            .unacceptable(.expectationUnknown), .unacceptable(.fieldsTooLarge), .unacceptable(.notImplemented),
            .unacceptable(.versionUnsupported), .overloaded,
        ])
    func parserRefusals(refusal: HTTPRefusal) {
        #expect(APIFailure(translating: refusal).code.row.status == refusal.status)
    }
}
