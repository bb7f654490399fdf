import Glibc
import Primitives
import Reactor
import Testing

/// A blocking client socket, as a stranger's program has one.
struct BlockingClient: ~Copyable {
    let descriptor: Int32

    init(port: UInt16) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        precondition(status == 0, "connect failed: \(errno)")
    }

    deinit { close(descriptor) }

    func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress! + sent, $0.count - sent, 0) }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Everything until the server closes, or `count` bytes.
    func receive(_ count: Int = .max) -> [UInt8] {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while all.count < count {
            let got = recv(descriptor, &buffer, min(buffer.count, count - all.count), 0)
            guard got > 0 else { return all }
            all += buffer[..<got]
        }
        return all
    }
}

/// Runs a blocking body on a thread of its own, so that no pool thread is held.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withUnsafeContinuation { continuation in
        let start: @Sendable () -> Void = { continuation.resume(returning: body()) }
        let context = Unmanaged.passRetained(Locked(start)).toOpaque()
        var thread = pthread_t()
        pthread_create(
            &thread, nil,
            { context in
                Unmanaged<Locked<@Sendable () -> Void>>.fromOpaque(context!).takeRetainedValue().withLock { $0 }()
                return nil
            }, context)
        pthread_detach(thread)
    }
}

@Suite("Sockets")
struct SocketTests {
    /// Accepts one connection and gives it to `serve`; the client runs beside it.
    private func exchange<Served: Sendable, Seen: Sendable>(
        serve: @escaping @Sendable (Socket) async -> Served, client: @escaping @Sendable (UInt16) -> Seen
    ) async throws -> (Served, Seen) {
        let loop = try EventLoop(name: "test")
        loop.start()
        let listener = try Listener(try #require(SocketAddress("127.0.0.1:0")), on: loop)
        async let seen = onThread { client(listener.address.port) }
        let served = await loop.run { () -> Served? in
            guard let socket = await listener.accept() else { return nil }
            let served = await serve(socket)
            socket.close()
            listener.close()
            return served
        }
        let result = (try #require(served), await seen)
        loop.stop()
        loop.join()
        return result
    }

    @Test("a megabyte goes there and back, over full buffers")
    func echo() async throws {
        let size = 1 << 20
        let (_, echoed) = try await exchange { socket in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 10_000, alignment: 1)
            defer { buffer.deallocate() }
            var seen = 0
            while seen < size, let count = try? await socket.read(into: buffer), count > 0 {
                seen += count
                try? await socket.write(Array(buffer[..<count]))
            }
            return seen
        } client: { port in
            let client = BlockingClient(port: port)
            let sent = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            var received: [UInt8] = []
            for start in stride(from: 0, to: size, by: 1 << 16) {
                client.send(Array(sent[start..<min(size, start + 1 << 16)]))
                received += client.receive(min(1 << 16, size - start))
            }
            return received == sent
        }
        #expect(echoed)
    }

    @Test("the peer's end is 0, told once it has sent all, and told again")
    func end() async throws {
        let (counts, _) = try await exchange { socket in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 1)
            defer { buffer.deallocate() }
            var counts: [Int] = []
            for _ in 0..<3 { counts.append((try? await socket.read(into: buffer)) ?? -1) }
            return counts
        } client: { port in
            BlockingClient(port: port).send(Array("hello".utf8))
        }
        #expect(counts == [5, 0, 0])
    }

    @Test("a deadline ends a read that waits, and later ones; a new deadline does not revive the socket")
    func deadline() async throws {
        let (errors, _) = try await exchange { socket in
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 1)
            defer { buffer.deallocate() }
            socket.setDeadline(after: .milliseconds(50))
            var errors: [SocketError?] = []
            for _ in 0..<2 {
                do throws(SocketError) {
                    _ = try await socket.read(into: buffer)
                    errors.append(nil)
                } catch {
                    errors.append(error)
                }
                socket.setDeadline(after: .seconds(5))
            }
            return errors
        } client: { port in
            _ = BlockingClient(port: port).receive()
        }
        #expect(errors == [.timedOut, .timedOut])
    }

    @Test("a writer whose peer does not read waits, and its deadline ends it")
    func writeDeadline() async throws {
        let (error, _) = try await exchange { socket -> SocketError? in
            socket.setDeadline(after: .milliseconds(50))
            do throws(SocketError) {
                try await socket.write([UInt8](repeating: 7, count: 64 << 20))
                return nil
            } catch {
                return error
            }
        } client: { port in
            let client = BlockingClient(port: port)
            usleep(2_000_000)
            _ = client.receive(1)
        }
        #expect(error == .timedOut)
    }

    @Test("closing wakes the reader that waits")
    func closeWakes() async throws {
        let (error, _) = try await exchange { socket -> SocketError? in
            _ = socket.loop.schedule(after: .milliseconds(10)) { socket.close() }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 1)
            defer { buffer.deallocate() }
            do throws(SocketError) {
                _ = try await socket.read(into: buffer)
                return nil
            } catch {
                return error
            }
        } client: { port in
            _ = BlockingClient(port: port).receive()
        }
        #expect(error == .closed)
    }

    @Test("a taken port is found by the probe, though sharing it would work")
    func takenPort() async throws {
        let loop = try EventLoop(name: "test")
        loop.start()
        let listener = try Listener(try #require(SocketAddress("127.0.0.1:0")), on: loop)
        #expect(throws: ReactorError.addressInUse(listener.address)) { try Listener.probe(listener.address) }
        let sibling = try Listener(listener.address, on: loop)
        #expect(sibling.address == listener.address)
        loop.stop()
        loop.join()
    }

    @Test(
        "addresses are numeric, with a port",
        arguments: [
            ("127.0.0.1:80", true), ("[::1]:0", true), ("0.0.0.0:65535", true), ("localhost:80", false),
            ("127.0.0.1", false), ("127.0.0.1:65536", false), ("::1:80", false), ("[127.0.0.1]:80", false), ("", false),
            (":80", false), ("1.2.3:80", false),
        ])
    func addresses(text: String, isGood: Bool) {
        #expect((SocketAddress(text) != nil) == isGood)
        if isGood { #expect(SocketAddress(text)?.description == text) }
    }
}
