import AuthTesting
import Foundation
import JSON
import Primitives
import Testing

@Suite("Turns at the write connections, over sockets", .blocking)
struct WriteTurnTests {
    /// How many backends wait for the lock of the statement that a test holds.
    private static let waiting = """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock' AND application_name = 'sallyport'
        """

    @Test("requests of one device that are held up leave the write connections to others; the 129th that waits is 429")
    func heldUp() throws {
        let site = try Site(settings: ["SALLYPORT_RATE_LIMIT": "off", "SALLYPORT_WORKERS": "1"])
        let client = try AuthClient(site.serve())
        let session = try site.tables.signIn()
        let pair = try client.signedIn(session.signed)
        let others = try (0..<8).map { _ in try site.tables.signIn() }
        let database = site.database
        let peak = Locked(0)
        let answers = try HTTPClient.together(170) { index -> HTTPAnswer? in
            if index == 0 {
                try database.sql(
                    """
                    BEGIN; SELECT id FROM sallyport.devices WHERE id = '\(pair.deviceID)' FOR UPDATE;
                    SELECT pg_sleep(2.5); COMMIT;
                    """)
                return nil
            }
            if index == 1 {
                usleep(600_000)
                let count = Int(try database.sql(Self.waiting)[0][0]) ?? 99
                peak.withLock { $0 = count }
                return nil
            }
            usleep(200_000)
            if index < 10 {
                usleep(200_000)
                return try client.exchange(others[index - 2].signed, installation: "installation-of-\(index)")
            }
            return try client.exchange(session.signed)
        }
        #expect(peak.withLock { $0 } <= 2)
        for answer in answers[2..<10] { #expect(answer?.status == 200, "\(answer?.text ?? "")") }
        let own = answers[10...].compactMap { $0 }
        let limited = own.filter { $0.status == 429 }
        #expect(!limited.isEmpty && limited.count <= 160 - 128 - 2)
        for answer in limited {
            #expect(answer.json?["error_reason"]?.stringValue == "rate_limited")
            #expect(answer.field("retry-after") != nil)
        }
        for answer in own where answer.status != 200 && answer.status != 429 {
            try expectUnavailable(answer, among: ["busy"])
        }
        #expect(try client.refresh(pair.refresh).status != 429)
    }
}
