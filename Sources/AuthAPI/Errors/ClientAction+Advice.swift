import AuthDomain

extension ClientAction {
    /// For client developers: what an app does, in a sentence of Markdown.
    var advice: String {
        switch self {
        case .wipe:
            "delete local data, **if** the `proof` verifies by a stored `verdict_key` (below); otherwise as `lock`"
        case .lock: "hide data, keep the database and the queue of unsent work, ask for sign-in"
        case .reauth: "ask for sign-in; go on offline until `read_for` ends"
        case .verify: "show \"verify your address\"; data and access stay"
        case .stepUp: "ask for a fresh sign-in, then repeat the request; data and access stay"
        case .refresh: "refresh with the newest stored token, then repeat the request; data and access stay"
        case .retry: "try again later, after `Retry-After`; data and access stay"
        case .none: "the request itself was wrong: repeating it changes nothing; data and access stay"
        }
    }
}
