import Foundation
import Glibc

/// Clients of one server on one thread: each sends its request, waits for the answers to it, and sends it again.
final class ClosedLoopClients {
    struct Kind {
        let request: [UInt8]
        /// Answers to one request.
        var answers = 1
        /// Whether the server closes after it, and the next one needs another connection.
        var closes = false
    }

    private struct Client {
        let kind: Int
        var descriptor: Int32
        /// Bytes of the answers that are still to come.
        var expected = 0
    }

    private let port: UInt16
    private let kinds: [Kind]
    /// Bytes of one answer of a kind, learnt from its first one.
    private var answerBytes: [Int?]
    private var clients: [Client] = []
    /// Finished requests of each kind.
    private(set) var finished: [Int]
    private var buffer = [UInt8](repeating: 0, count: 65_536)

    init(port: UInt16, kinds: [Kind]) {
        self.port = port
        self.kinds = kinds
        answerBytes = kinds.map { _ in nil }
        finished = kinds.map { _ in 0 }
    }

    deinit {
        for client in clients { close(client.descriptor) }
    }

    func add(_ count: Int, of kind: Int) {
        for _ in 0..<count { clients.append(Client(kind: kind, descriptor: Self.connected(port))) }
    }

    /// Goes on until the condition holds or the time is over.
    func run(atMost seconds: Double, until isDone: (ClosedLoopClients) -> Bool) {
        let end = Date(timeIntervalSinceNow: seconds)
        for index in clients.indices where clients[index].expected == 0 { send(index) }
        while !isDone(self), Date() < end {
            var polled = clients.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            guard poll(&polled, nfds_t(polled.count), 1_000) > 0 else { continue }
            for index in polled.indices where polled[index].revents != 0 { receive(index) }
        }
    }

    private func send(_ index: Int) {
        let kind = kinds[clients[index].kind]
        clients[index].expected = (answerBytes[clients[index].kind] ?? 1) * kind.answers
        _ = Glibc.send(clients[index].descriptor, kind.request, kind.request.count, Int32(MSG_NOSIGNAL))
    }

    private func receive(_ index: Int) {
        let kind = clients[index].kind
        let count = recv(clients[index].descriptor, &buffer, buffer.count, 0)
        if count > 0, answerBytes[kind] == nil, let bytes = Self.answerBytes(buffer[..<count]) {
            answerBytes[kind] = bytes
            clients[index].expected = bytes * kinds[kind].answers
        }
        clients[index].expected -= max(0, count)
        guard kinds[kind].closes ? count <= 0 : clients[index].expected <= 0 else { return }
        finished[kind] += 1
        if kinds[kind].closes {
            close(clients[index].descriptor)
            clients[index].descriptor = Self.connected(port)
        }
        send(index)
    }

    /// Of the first answer, by its `Content-Length`.
    private static func answerBytes(_ bytes: ArraySlice<UInt8>) -> Int? {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n"), let field = text.range(of: "Content-Length: ") else { return nil }
        let length = Int(text[field.upperBound...].prefix { $0.isNumber }) ?? 0
        return text[..<end.upperBound].utf8.count + length
    }

    private static func connected(_ port: UInt16) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        precondition(status == 0, "no connection")
        return descriptor
    }
}
