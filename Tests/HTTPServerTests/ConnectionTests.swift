import Glibc
import HTTP
import HTTPServer
import Primitives
import Reactor
import Testing

@Suite("Connections")
struct ConnectionTests {
    private static let get = "GET /static HTTP/1.1\r\nHost: a.example\r\n\r\n"

    @Test("a connection serves one request after the other")
    func keepAlive() async throws {
        try await TestServer.run { server in
            let statuses = await server.client { client in
                for count in 1...3 {
                    client.send(Self.get)
                    client.receive(count)
                }
                return WireResponse.parse(client.received, firstIsHead: false).map(\.status)
            }
            #expect(statuses == [200, 200, 200])
        }
    }

    @Test("answers to pipelined requests come in order, and together")
    func pipelining() async throws {
        let application = ClosureApplication { request in
            if request.target.path == "/20" { await EventLoop.current?.sleep(for: .milliseconds(300)) }
            return text(request.target.path)
        }
        try await TestServer.run(application) { server in
            let (isEarly, bodies) = await server.client { client in
                client.send((1...20).map { "GET /\($0) HTTP/1.1\r\nHost: a.example\r\n\r\n" }.joined())
                client.limitReceiving(milliseconds: 100)
                let isEarly = client.receiveSome()
                client.limitReceiving(milliseconds: 600_000)
                return (isEarly, client.receive(20)?.map { latin1($0.body) })
            }
            #expect(!isEarly)
            #expect(bodies == (1...20).map { "/\($0)" })
        }
    }

    @Test("the application sees the client's address")
    func peer() async throws {
        let application = ClosureApplication { text($0.peer.description) }
        try await TestServer.run(application) { server in
            let body = await server.client { client in
                client.send("GET / HTTP/1.1\r\nHost: a.example\r\nX-Forwarded-For: 10.0.0.1\r\n\r\n")
                return client.receive(1)?.first?.body
            }
            #expect(body == Array("127.0.0.1".utf8))
        }
    }

    @Test("the application knows how many requests its loop works on, this one included")
    func concurrency() async throws {
        let gate = Locked<[UnsafeContinuation<Void, Never>]>([])
        let application = ClosureApplication { request in
            let count = text(String(request.concurrency))
            if request.target.path == "/wait" {
                await withUnsafeContinuation { waiter in gate.withLock { $0.append(waiter) } }
            } else if request.target.path == "/open" {
                for waiter in gate.withLock({ waiters in
                    defer { waiters = [] }
                    return waiters
                }) {
                    waiter.resume()
                }
            }
            return count
        }
        try await TestServer.run(application) { server in
            let port = server.port
            let counts = await onThread {
                let waiting = (0..<3).map { _ in
                    let client = BlockingClient(port: port)
                    client.send("GET /wait HTTP/1.1\r\nHost: a.example\r\n\r\n")
                    return client
                }
                while gate.withLock({ $0.count }) < 3 { usleep(1_000) }
                func body(_ client: BlockingClient) -> String { client.receive(1)?.first.map { latin1($0.body) } ?? "" }
                let last = BlockingClient(port: port)
                last.send("GET /open HTTP/1.1\r\nHost: a.example\r\n\r\n")
                let fourth = body(last)
                let firsts = waiting.map { body($0) }.sorted()
                let later = BlockingClient(port: port)
                later.send("GET /now HTTP/1.1\r\nHost: a.example\r\n\r\n")
                return [fourth, firsts.joined(separator: " "), body(later)]
            }
            #expect(counts == ["4", "1 2 3", "1"])
        }
    }

    @Test("100 Continue is not sent when the content is there already, and is sent once when it is not")
    func continueOnce() async throws {
        let head = "POST /echo HTTP/1.1\r\nHost: a.example\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
        try await TestServer.run { server in
            let together = await server.client { client in
                client.send(head + "abcd")
                client.receive(1)
                return WireResponse.parse(client.received, firstIsHead: false).map(\.status)
            }
            #expect(together == [200])
            let apart = await server.client { client in
                client.send(head)
                while WireResponse.parse(client.received, firstIsHead: false).isEmpty, client.receiveSome() {}
                for piece in ["a", "b", "cd"] { client.send(piece) }
                client.receive(1)
                return WireResponse.parse(client.received, firstIsHead: false).map(\.status)
            }
            #expect(apart == [100, 200])
            let begun = await server.client { client in
                client.send(head + "ab")
                _ = BlockingClient.pause(milliseconds: 50)
                client.send("cd")
                client.receive(1)
                return WireResponse.parse(client.received, firstIsHead: false).map(\.status)
            }
            #expect(begun == [200])
        }
    }

    @Test("a prepared answer is served, and its head alone to HEAD")
    func prepared() async throws {
        let prepared = PreparedResponse(status: .ok, fields: ["X-A": "b"], content: Array("{}".utf8))
        try await TestServer.run(ClosureApplication { _ in HTTPResponse(prepared) }) { server in
            let answers = await server.client { client in
                client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                client.receiveToEnd()
                return WireResponse.parse(client.received, firstIsHead: true)
            }
            #expect(answers.map(\.body) == [[], Array("{}".utf8)])
            #expect(answers.map { $0.field("content-length") } == ["2", "2"])
            #expect(answers.map { $0.field("x-a") } == ["b", "b"])
            #expect(answers.last?.field("connection") == "close")
        }
    }

    @Test("what follows a request that is refused never reaches the application")
    func smuggling() async throws {
        let seen = Locked<[String]>([])
        let application = ClosureApplication { request in
            seen.withLock { $0.append(request.target.path) }
            return text("")
        }
        try await TestServer.run(application) { server in
            let ambiguous =
                "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
            let answers = await server.client { client in
                client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n" + ambiguous + "GET /c HTTP/1.1\r\nHost: a\r\n\r\n")
                client.receiveToEnd()
                return WireResponse.parse(client.received, firstIsHead: false)
            }
            #expect(answers.map(\.status) == [200, 400])
            #expect(answers.last?.body == Array("refused".utf8))
            #expect(answers.last?.field("connection") == "close")
        }
        #expect(seen.withLock { $0 } == ["/a"])
    }

    @Test("a client that is refused may go on sending for a while, so that it can read why")
    func lingering() async throws {
        try await TestServer.run { server in
            let (status, isTaken, hasEnded) = await server.client { client in
                client.send("POST /echo HTTP/1.1\r\nHost: a.example\r\nContent-Length: 800000\r\n\r\n")
                let status = client.receive(1)?.first?.status
                // A closed socket would answer the first of these with a reset and fail the second.
                let isTaken = (0..<2).allSatisfy { _ in
                    client.send([UInt8](repeating: 0, count: 100_000)) && BlockingClient.pause(milliseconds: 20)
                }
                client.finishWriting()
                return (status, isTaken, client.receiveToEnd())
            }
            #expect(status == 413)
            #expect(isTaken)
            #expect(hasEnded)
        }
    }

    @Test("the application can end the connection")
    func applicationCloses() async throws {
        let application = ClosureApplication { _ in HTTPResponse(status: .ok, closesConnection: true) }
        try await TestServer.run(application) { server in
            let (answers, hasEnded) = await server.client { client in
                client.send(Self.get + Self.get)
                let hasEnded = client.receiveToEnd()
                return (WireResponse.parse(client.received, firstIsHead: false), hasEnded)
            }
            #expect(answers.count == 1 && hasEnded)
            #expect(answers.first?.field("connection") == "close")
        }
    }

    @Test("many connections on two loops are all served on one port")
    func twoLoops() async throws {
        let loops = Locked<Set<String>>([])
        let application = ClosureApplication { _ in
            loops.withLock { _ = $0.insert(EventLoop.current?.name ?? "none") }
            return text("")
        }
        try await TestServer.run(application, loopCount: 2) { server in
            let port = server.port
            let servedCount = await onThread {
                (0..<64).count { _ in
                    let client = BlockingClient(port: port)
                    client.send(Self.get)
                    return client.receive(1)?.first?.status == 200
                }
            }
            #expect(servedCount == 64)
        }
        #expect(loops.withLock { $0 } == ["test-0", "test-1"])
    }
}
