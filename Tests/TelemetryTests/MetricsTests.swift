import Telemetry
import Testing

@Suite("Metrics")
struct MetricsTests {
    private let requests = Metrics.Name("requests_total", help: "Requests.")
    private let durations = Metrics.Name("duration_seconds", help: "Times.")

    @Test("counters, histograms and gauges are written as Prometheus reads them, each type declared once")
    func text() {
        let metrics = Metrics()
        metrics.counter(requests, [("route", "/a"), ("status", "200")]).add()
        metrics.counter(requests, [("route", "/a"), ("status", "200")]).add(2)
        metrics.counter(requests, [("route", "/b\"\\"), ("status", "404")]).add()
        metrics.histogram(durations, [("route", "/a")]).observe(.milliseconds(3))
        metrics.histogram(durations, [("route", "/a")]).observe(.seconds(9))
        let lines = metrics.text(gauges: [Metrics.Gauge(Metrics.Name("age_seconds", help: "Age."), [], 2)]).split(
            separator: "\n")
        #expect(lines.filter { $0 == "# TYPE requests_total counter" }.count == 1)
        #expect(lines.contains(#"requests_total{route="/a",status="200"} 3"#))
        #expect(lines.contains(#"requests_total{route="/b\"\\",status="404"} 1"#))
        #expect(lines.contains(#"duration_seconds_bucket{route="/a",le="0.0025"} 0"#))
        #expect(lines.contains(#"duration_seconds_bucket{route="/a",le="0.005"} 1"#))
        #expect(lines.contains(#"duration_seconds_bucket{route="/a",le="+Inf"} 2"#))
        #expect(lines.contains(#"duration_seconds_count{route="/a"} 2"#))
        #expect(lines.contains("# TYPE age_seconds gauge"))
        #expect(lines.last == "age_seconds 2.0")
    }

    @Test("a traceparent of the standard's form gives its ids")
    func traceParent() throws {
        let trace = try #require(TraceParent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
        #expect(trace.traceID == "0af7651916cd43dd8448eb211c80319c")
        #expect(trace.spanID == "b7ad6b7169203331")
        #expect(TraceParent("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later") != nil)
    }

    @Test(
        "anything else gives none",
        arguments: [
            "", "00", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "00-0af7651916cd43dd8448eb211c80319c\n-b7ad6b7169203331-01",
        ])
    func noTraceParent(text: String) {
        #expect(TraceParent(text) == nil)
    }
}
