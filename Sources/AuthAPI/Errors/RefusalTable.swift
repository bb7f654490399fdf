import AuthDomain
import HTTP

/// The catalogue as the table of `docs/clients.md`, in Markdown; a test compares the two.
package enum RefusalTable {
    /// Verdicts first, in the order of their actions; then our own faults, then requests that are wrong.
    package static func markdown() -> String {
        let verdicts = ClientAction.allCases.flatMap { action in
            RefusalReason.allCases.filter { VerdictPolicy.careful.action(for: $0, isDeviceHeld: true) == action }
        }
        let head = """
            | `error_reason` | `client_action` | HTTP | `error` | what it says |
            |---|---|---|---|---|
            """
        let codes =
            verdicts.map(APIErrorCode.refused)
            // To a client the two are the same.
            + Unavailability.allCases.filter { $0 != .misconfigured }.map(APIErrorCode.unavailable)
            + RequestProblem.allCases.map(APIErrorCode.rejected)
        return ([head] + codes.map(line)).joined(separator: "\n")
    }

    /// What to do on each action, and which reasons ask for it.
    package static func actions() -> String {
        let head = """
            | `client_action` | what to do | comes with |
            |---|---|---|
            """
        let lines = ClientAction.allCases.map { action in
            let reasons = APIErrorCode.allCases.filter { $0 != .unavailable(.misconfigured) && asks($0, for: action) }
            return "| `\(action.rawValue)` | \(action.advice) | "
                + reasons.map { "`\($0.reason)`" }.joined(separator: " ") + " |"
        }
        return ([head] + lines).joined(separator: "\n")
    }

    /// Under the default policy, of a device that is held where the reason is one of a device.
    private static func asks(_ code: APIErrorCode, for action: ClientAction) -> Bool {
        guard case .refused(let reason) = code else { return (code.row.action ?? .retry) == action }
        return VerdictPolicy.careful.action(for: reason, isDeviceHeld: true) == action
    }

    private static func line(_ code: APIErrorCode) -> String {
        let row = code.row
        return
            "| `\(row.reason)` | \(action(code, row)) | \(status(row)) | `\(row.error.rawValue)` | \(row.sentence) |"
    }

    private static func action(_ code: APIErrorCode, _ row: APIErrorRow) -> String {
        guard case .refused(let reason) = code else { return "`\((row.action ?? .retry).rawValue)`" }
        let careful = VerdictPolicy.careful.action(for: reason, isDeviceHeld: true)
        let back = VerdictPolicy.careful.action(for: reason, isDeviceHeld: false)
        let strict = VerdictPolicy.strict.action(for: reason, isDeviceHeld: true)
        var text = "`\(careful.rawValue)`"
        if back != careful { text += "; `\(back.rawValue)` once the device is active again" }
        if strict != careful { text += "; `\(strict.rawValue)` under the policy `strict`" }
        return text
    }

    /// As `POST /auth/token` answers it.
    private static func status(_ row: APIErrorRow) -> String {
        row.hasRetryAfter ? "\(row.status.code), `Retry-After`" : "\(row.status.code)"
    }
}
