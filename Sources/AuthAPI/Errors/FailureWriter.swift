import AuthDomain
import HTTP
import JSON
import Primitives
import Telemetry

/// Writes a failure as the one JSON shape of contract section 5.
struct FailureWriter: Sendable {
    let clock: any WallClock
    let random: any RandomSource

    func response(_ failure: APIFailure, to place: CredentialPlace, requestID: RequestID) -> HTTPResponse {
        let row = failure.code.row.answered(to: place)
        var body: JSONObject = [
            "error": .string(row.error.rawValue),
            "error_description": .string(failure.sentence ?? row.sentence),
            "error_reason": .string(row.reason),
            "client_action": .string((failure.action ?? row.action ?? .retry).rawValue),
        ]
        var fields: HTTPFields = [:]
        if row.hasRetryAfter {
            let seconds = retryAfterSeconds(failure.wait ?? .zero)
            body["retry_after"] = .integer(seconds)
            fields.append("Retry-After", String(seconds))
        }
        body["server_time"] = .integer(clock.now().secondsSinceEpoch)
        body["request_id"] = .string(requestID.description)
        if let sessionID = failure.sessionID { body["sid"] = .string(sessionID) }
        if let deviceID = failure.deviceID { body["device_id"] = .string(deviceID.description) }
        if let proof = failure.proof { body["proof"] = .string(proof) }
        for (name, value) in failure.members.members { body[name] = value }

        if row.isChallenge { fields.append("WWW-Authenticate", challenge(failure.code, row)) }
        if !failure.allowedMethods.isEmpty {
            fields.append("Allow", failure.allowedMethods.map(\.name).joined(separator: ", "))
        }
        return .json(body, status: row.status, fields: fields)
    }

    /// RFC 6750 §3: no error code where no token was sent. RFC 9470 §3: `max_age` says how recent is recent enough.
    private func challenge(_ code: APIErrorCode, _ row: APIErrorRow) -> String {
        // RFC 6749 §5.2: the scheme that the client used, and it is the only one that a service may use. RFC 7617 §2.1.
        if code == .rejected(.clientUnknown) { return "Basic realm=\"sallyport\", charset=\"UTF-8\"" }
        let realm = "Bearer realm=\"sallyport\""
        if code == .rejected(.tokenMissing) { return realm }
        let challenge = realm + ", error=\"\(row.error.rawValue)\", error_description=\"\(row.sentence)\""
        guard code == .refused(.stepUpRequired) else { return challenge }
        return challenge + ", max_age=\"\(AuthDomain.Limits.freshProof.wholeSeconds)\""
    }

    /// Not before the wait is over, and spread behind it.
    private func retryAfterSeconds(_ wait: Duration) -> Int64 {
        let range = Limits.retryAfterSeconds
        let chance = random.bytes(1).first.map(Int64.init) ?? 0
        let seconds = min(wait.wholeSeconds, Limits.retryAfterSecondsMax) + range.lowerBound
        return min(seconds + chance % Int64(range.count), Limits.retryAfterSecondsMax)
    }
}
