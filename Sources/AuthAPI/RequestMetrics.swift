import HTTP
import Primitives
import Telemetry

/// Counts requests by route, method and status. What a series is called is put together once, not with each request.
final class RequestMetrics: Sendable {
    private struct Key: Hashable {
        /// The route's template stands for the path, so that no label holds an id.
        let route: String
        let method: String
        let status: Int
    }

    private struct Series: Sendable {
        let requests: Metrics.Counter
        let durations: Metrics.Histogram
    }

    private let metrics: Metrics
    // As many entries as there are routes, methods and status codes of ours.
    private let known = Locked<[Key: Series]>([:])

    init(_ metrics: Metrics) {
        self.metrics = metrics
    }

    func count(route: String, method: String, status: Int, _ duration: Duration?) {
        let key = Key(route: route, method: method, status: status)
        let series = known.withLock { $0[key] } ?? make(key)
        series.requests.add()
        if let duration { series.durations.observe(duration) }
    }

    private func make(_ key: Key) -> Series {
        let labels: Metrics.Labels = [("method", key.method), ("route", key.route)]
        let series = Series(
            requests: metrics.counter(APIMetrics.requests, labels + [("status", String(key.status))]),
            durations: metrics.histogram(APIMetrics.durations, labels))
        known.withLock { $0[key] = series }
        return series
    }
}
