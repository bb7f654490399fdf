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
}

/// `GET /metrics`: Prometheus text. No label holds an id.
struct ShowMetrics: Sendable {
    let metrics: Metrics
    let keys: any KeyringSource
    let clock: any WallClock

    var route: Route {
        Route("showMetrics", .get, "/metrics", "Counters for Prometheus.", level: .debug, handler: .open(handle))
    }

    private func handle(_ request: APIRequest) async throws(APIFailure) -> HTTPResponse {
        var gauges: [(name: Metrics.Name, value: Double)] = []
        if let keyring = keys.keyring {
            let age = clock.now() - keyring.signing.createdAt
            gauges = [
                (APIMetrics.keyAge, Double(age.wholeSeconds)),
                (APIMetrics.publishedKeys, Double(keyring.published.count)),
            ]
        }
        return HTTPResponse(
            status: .ok, fields: ["Content-Type": "text/plain; version=0.0.4; charset=utf-8"],
            body: .bytes(Array(metrics.text(gauges: gauges).utf8)))
    }
}
