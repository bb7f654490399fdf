import AuthTesting
import Testing

@Suite("What a running server shows of itself", .blocking)
struct MetricsTests {
    @Test("/metrics has connections, event loops, databases, signatures, refreshes by what they did, and no id")
    func process() throws {
        let site = try Site()
        let client = try AuthClient(site.serve())
        let pair = try client.signedIn(site.tables.signIn().signed)
        let second = try client.refreshed(pair.refresh)
        _ = try client.refreshed(pair.refresh)
        _ = try client.refresh("garbage")
        var text = ""
        func value(_ series: String) -> Double? {
            let line = text.split(separator: "\n").first { $0.hasPrefix(series + " ") }
            return line.flatMap { Double($0.dropFirst(series.count + 1)) }
        }
        let isSampled = waitUntil(limit: .seconds(20)) {
            text = (try? client.get("/metrics").text) ?? ""
            let reads = value("sallyport_database_connections{database=\"main\",use=\"read\"}") ?? 0
            return reads > 0 && (value("sallyport_loop_lag_seconds_count") ?? 0) > 0
        }
        #expect(isSampled, "\(text)")
        #expect(value("sallyport_http_connections") ?? 0 >= 1)
        #expect(value("sallyport_mint_duration_seconds_count") ?? 0 >= 2)
        #expect(value("sallyport_mint_duration_seconds_sum") ?? 0 > 0)
        #expect(value("sallyport_database_waiting{database=\"main\"}") == 0)
        #expect(value("sallyport_refreshes_total{outcome=\"rotated\"}") == 1)
        #expect(text.contains("sallyport_refreshes_total{outcome=\"replayed_"))
        #expect(value("sallyport_refusals_total{reason=\"token_malformed\"}") == 1)
        for id in [pair.sid, pair.deviceID, second.sid] { #expect(!text.contains(id)) }
    }
}
