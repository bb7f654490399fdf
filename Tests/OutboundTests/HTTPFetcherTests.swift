import Outbound
import Reactor
import Testing

@Suite("Outbound HTTP")
struct HTTPFetcherTests {
    private let loop: EventLoop

    init() throws {
        loop = try EventLoop(name: "outbound-test")
        loop.start()
    }

    private func get(_ text: String) async throws -> Result<OutboundResponse, OutboundError> {
        let address = try #require(OutboundAddress(text))
        let loop = loop
        let result = await loop.run { () async -> Result<OutboundResponse, OutboundError>? in
            guard let fetcher = HTTPFetcher(on: loop) else { return nil }
            defer { fetcher.close() }
            do throws(OutboundError) {
                return .success(try await fetcher.get(address))
            } catch {
                return .failure(error)
            }
        }
        loop.stop()
        loop.join()
        return try #require(result)
    }

    @Test("an answer comes with status, fields and body")
    func answer() async throws {
        let server = CannedServer(
            "HTTP/1.1 200 OK\r\nContent-Type:  application/json \r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
        let response = try await get("http://127.0.0.1:\(server.port)/jwks.json").get()
        #expect(response.status == 200)
        #expect(response.field("content-TYPE") == "application/json")
        #expect(response.field("etag") == nil)
        #expect(response.body == Array("{}".utf8))
        #expect(response.duration < .seconds(10))
    }

    @Test("a redirect is an answer and not followed")
    func redirect() async throws {
        let server = CannedServer(
            "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        let response = try await get("http://127.0.0.1:\(server.port)/").get()
        #expect(response.status == 301)
        #expect(response.field("location") == "http://127.0.0.1:1/")
    }

    @Test("more than a MiB is cut off, with a length and without")
    func tooLarge() async throws {
        let body = String(repeating: "x", count: 1_048_577)
        let server = CannedServer("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + body)
        await #expect(throws: OutboundError.tooLarge) {
            try await get("http://127.0.0.1:\(server.port)/").get()
        }
    }

    @Test("endless header fields are cut off")
    func endlessFields() async throws {
        let field = "X-Pad: " + String(repeating: "x", count: 1_000) + "\r\n"
        let server = CannedServer("HTTP/1.1 200 OK\r\n" + String(repeating: field, count: 80) + "\r\n")
        await #expect(throws: OutboundError.tooLarge) {
            try await get("http://127.0.0.1:\(server.port)/").get()
        }
    }

    @Test("nobody there, a name that nobody has, and plain bytes for TLS are each named")
    func failures() async throws {
        let server = CannedServer("no TLS here\r\n\r\n")
        for (address, error) in [
            ("http://127.0.0.1:1/", OutboundError.unreachable), ("https://nobody.invalid/", .nameUnknown),
            ("https://127.0.0.1:\(server.port)/", .tlsFailed),
        ] {
            let loop = try EventLoop(name: "outbound-failure")
            loop.start()
            let target = try #require(OutboundAddress(address))
            let found = await loop.run { () async -> OutboundError? in
                guard let fetcher = HTTPFetcher(on: loop) else { return nil }
                defer { fetcher.close() }
                do throws(OutboundError) {
                    _ = try await fetcher.get(target)
                    return nil
                } catch {
                    return error
                }
            }
            loop.stop()
            loop.join()
            #expect(found == error, "\(address)")
        }
    }

    @Test("an address that hangs ends by the time limit, and one fetch does not wait for another")
    func timeLimit() async throws {
        let hung = CannedServer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12", closes: false)
        let quick = CannedServer("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        let first = try #require(OutboundAddress("http://127.0.0.1:\(hung.port)/"))
        let second = try #require(OutboundAddress("http://127.0.0.1:\(quick.port)/"))
        let loop = loop
        let found = await loop.run { () async -> (OutboundError?, Int?) in
            guard let fetcher = HTTPFetcher(on: loop) else { return (nil, nil) }
            defer { fetcher.close() }
            let status = try? await fetcher.get(second).status
            do throws(OutboundError) {
                _ = try await fetcher.get(first)
                return (nil, status)
            } catch {
                return (error, status)
            }
        }
        loop.stop()
        loop.join()
        #expect(found == (.timedOut, 204))
    }

    @Test(
        "https anywhere and http on loopback are fetched",
        arguments: [
            "https://auth.example.com/.well-known/jwks.json", "https://auth.example.com:8443", "http://127.0.0.1:80/a",
            "http://localhost:1", "http://[::1]:8080/a?b=c", "https://[2001:db8::1]/",
        ])
    func addresses(text: String) { #expect(OutboundAddress(text)?.description == text) }

    @Test(
        "nothing else is",
        arguments: [
            "", "auth.example.com", "http://auth.example.com/", "http://10.0.0.1/", "ftp://a/", "file:///etc/passwd",
            "https://", "https://user:secret@a/", "https://a b/", "https://a:port/", "https://a:99999/", "https://::1/",
            "https://a\u{0}b/", "HTTPS://a/", "http://127.0.0.1.example.com/", "http://localhost@evil.example/",
        ])
    func refusedAddresses(text: String) { #expect(OutboundAddress(text) == nil) }
}
