import AuthTesting
import Foundation
import Testing

@Suite("Killed in the middle", .blocking)
struct KillPointTests {
    @Test("killed at any point of a refresh, the server loses nothing: the retry elsewhere goes on by one generation")
    func everyPoint() throws {
        let site = try Site()
        let survivor = try AuthClient(site.serve())
        var pair = try survivor.signedIn(site.tables.signIn().signed)
        // A refresh takes some milliseconds: from before it has arrived to after its answer has left.
        for microseconds in stride(from: 0, through: 8_000, by: 1_000) {
            let victim = try site.serve()
            let client = try victim.client
            let key = "key-of-generation-\(try pair.generation ?? 0)-\(microseconds)"
            let body = "grant_type=refresh_token&refresh_token=\(pair.refresh)"
            let connection = try client.connect()
            try connection.send(
                bytes: Array(
                    """
                    POST /auth/token HTTP/1.1\r
                    Host: 127.0.0.1\r
                    Content-Type: application/x-www-form-urlencoded\r
                    Idempotency-Key: \(key)\r
                    Content-Length: \(body.utf8.count)\r
                    \r
                    \(body)
                    """.utf8))
            usleep(useconds_t(microseconds))
            victim.kill()
            let next = try survivor.refreshed(pair.refresh, key: key)
            #expect(try next.generation == (pair.generation ?? 0) + 1, "killed after \(microseconds) µs")
            // And a second retry, as of a client that lost that answer too.
            #expect(try survivor.refreshed(pair.refresh, key: key).refresh == next.refresh)
            pair = next
        }
    }
}
