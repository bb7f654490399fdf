import AuthDomain
import HTTP
import Primitives
import Telemetry

/// What the API counts.
enum APIMetrics {
    static let requests = Metrics.Name("sallyport_http_requests_total", help: "Requests by route, method and status.")
    static let durations = Metrics.Name(
        "sallyport_http_request_duration_seconds", help: "Time to the answer, by route.")
    static let refreshes = Metrics.Name(
        "sallyport_refreshes_total", help: "Refreshes that were answered, by what they did.")
    static let refusals = Metrics.Name("sallyport_refusals_total", help: "Refusals and failures by error_reason.")
    static let turnedAway = Metrics.Name(
        "sallyport_turned_away_total", help: "Requests turned away before any work, by what there was too little of.")
    static let keyAge = Metrics.Name(
        "sallyport_signing_key_age_seconds", help: "Age of the key that signs access tokens.")
    static let publishedKeys = Metrics.Name("sallyport_published_keys", help: "Keys of the key set.")
    static let keys = Metrics.Name("sallyport_keys", help: "Keys by purpose and state.")
    static let keyStateAge = Metrics.Name(
        "sallyport_key_state_age_seconds", help: "How long the oldest key of a purpose and state has been in it.")
    static let unreadableKeys = Metrics.Name(
        "sallyport_unreadable_keys", help: "Keys and secrets that do not open with SALLYPORT_KEK.")
}

/// `GET /metrics`: Prometheus text. No label holds an id.
struct ShowMetrics: Sendable {
    let metrics: Metrics
    let gauges: @Sendable () -> [Metrics.Gauge]
    let keys: any KeyringSource
    let clock: any WallClock

    var route: Route {
        Route(
            "showMetrics", .get, "/metrics", "Counters for Prometheus.",
            answers: [.text("The counters.", mediaType: "text/plain", example: "sallyport_published_keys 2\n")],
            level: .debug, handler: .open(handle))
    }

    private func handle(_ request: APIRequest) async throws(APIFailure) -> HTTPResponse {
        let now = clock.now()
        var gauges = gauges()
        if let signing = keys.keyring?.signing {
            gauges.append(Metrics.Gauge(APIMetrics.keyAge, [], Double((now - signing.createdAt).wholeSeconds)))
        }
        if let published = keys.published {
            gauges.append(Metrics.Gauge(APIMetrics.publishedKeys, [], Double(published.count)))
        }
        if let inventory = keys.inventory { gauges += Self.gauges(of: inventory, at: now) }
        return HTTPResponse(
            status: .ok, fields: ["Content-Type": "text/plain; version=0.0.4; charset=utf-8"],
            body: .bytes(Array(metrics.text(gauges: gauges).utf8)))
    }

    private static func gauges(of inventory: KeyInventory, at now: Timestamp) -> [Metrics.Gauge] {
        var counts: [Metrics.Gauge] = []
        var ages: [Metrics.Gauge] = []
        for purpose in KeyPurpose.allCases {
            for state in KeyState.allCases where state.isUsable {
                let labels: Metrics.Labels = [("purpose", purpose.rawValue), ("state", state.rawValue)]
                let records = inventory.records.filter { $0.purpose == purpose && $0.state == state }
                counts.append(Metrics.Gauge(APIMetrics.keys, labels, Double(records.count)))
                if let since = records.map(\.stateAt).min() {
                    ages.append(Metrics.Gauge(APIMetrics.keyStateAge, labels, Double((now - since).wholeSeconds)))
                }
            }
        }
        return counts + ages + [Metrics.Gauge(APIMetrics.unreadableKeys, [], Double(inventory.unreadable.count))]
    }
}
