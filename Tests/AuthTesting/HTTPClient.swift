import Foundation
package import JSON
import Primitives

/// A client of a server on 127.0.0.1, as a stranger's program is one. Every call blocks its thread, for at most some
/// seconds.
package struct HTTPClient: Sendable {
    package enum Problem: Error, Equatable {
        case notConnected
        case notSent
        case noAnswer
        case malformedAnswer
    }

    package let port: UInt16
    /// The last number of the 127.0.0.x that it calls from; `nil`: what the kernel takes.
    package let source: UInt8?

    package init(port: UInt16, source: UInt8? = nil) {
        self.port = port
        self.source = source
    }

    /// One request on a connection of its own.
    package func send(
        _ method: String, _ target: String, fields: [(String, String)] = [], body: [UInt8]? = nil
    ) throws -> HTTPAnswer {
        let connection = try connect()
        return try connection.send(method, target, fields: fields + [("Connection", "close")], body: body)
    }

    package func connect() throws -> HTTPClientConnection {
        try HTTPClientConnection(port: port, source: source)
    }

    /// Runs blocking calls side by side, each on a thread of its own, started together.
    package static func together<Value: Sendable>(
        _ count: Int, _ body: @escaping @Sendable (_ index: Int) throws -> Value
    ) throws -> [Value] {
        let results = Locked([Result<Value, any Error>?](repeating: nil, count: count))
        let group = DispatchGroup()
        for index in 0..<count {
            group.enter()
            let thread = Thread {
                let result = Result { try body(index) }
                results.withLock { $0[index] = result }
                group.leave()
            }
            thread.stackSize = 1 << 20
            thread.start()
        }
        group.wait()
        return try results.withLock { $0 }.compactMap { try $0?.get() }
    }
}

/// One connection; raw bytes are possible.
package final class HTTPClientConnection {
    private let descriptor: Int32
    private var received: [UInt8] = []

    package init(port: UInt16, source: UInt8? = nil) throws(HTTPClient.Problem) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw .notConnected }
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        // Beyond every deadline that the server has itself.
        var limit = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        if let source {
            guard Self.withLoopback(source, port: 0, { bind(descriptor, $0, $1) }) == 0 else { throw .notConnected }
        }
        guard Self.withLoopback(1, port: port, { connect(descriptor, $0, $1) }) == 0 else { throw .notConnected }
    }

    deinit { close(descriptor) }

    private static func withLoopback(
        _ last: UInt8, port: UInt16, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = (0x7f00_0000 | UInt32(last)).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }

    package func send(
        _ method: String, _ target: String, fields: [(String, String)] = [], body: [UInt8]? = nil
    ) throws(HTTPClient.Problem) -> HTTPAnswer {
        var head = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        try send(bytes: Array((head + "\r\n").utf8) + (body ?? []))
        return try answer(to: method)
    }

    package func send(bytes: [UInt8]) throws(HTTPClient.Problem) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { throw .notSent }
            rest = rest.dropFirst(count)
        }
    }

    /// The next final answer.
    package func answer(to method: String = "GET") throws(HTTPClient.Problem) -> HTTPAnswer {
        while true {
            let head = try takeHead()
            guard head.status >= 200 else { continue }
            var answer = head
            let length = head.field("content-length").flatMap { Int($0) }
            guard method != "HEAD", head.status != 204, head.status != 304 else { return answer }
            while received.count < length ?? .max {
                guard try receiveSome() else {
                    if length == nil { break }
                    throw .noAnswer
                }
            }
            let count = length ?? received.count
            answer.body = Array(received.prefix(count))
            received.removeFirst(count)
            return answer
        }
    }

    private func takeHead() throws(HTTPClient.Problem) -> HTTPAnswer {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = received.firstRange(of: end) {
                let text = String(decoding: received[..<range.lowerBound], as: UTF8.self)
                received.removeFirst(range.upperBound)
                guard let answer = HTTPAnswer(head: text) else { throw .malformedAnswer }
                return answer
            }
            guard try receiveSome() else { throw .noAnswer }
        }
    }

    /// - Returns: `false` at the end of the stream.
    private func receiveSome() throws(HTTPClient.Problem) -> Bool {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        guard count >= 0 else { throw .noAnswer }
        received += buffer[..<count]
        return count > 0
    }
}

/// What a server answered.
package struct HTTPAnswer: Sendable, CustomStringConvertible {
    package enum Problem: Error {
        case noMember(String, in: HTTPAnswer)
    }

    package let status: Int
    /// Names in lower case.
    package let fields: [(name: String, value: String)]
    package internal(set) var body: [UInt8] = []

    fileprivate init?(head: String) {
        let lines = head.components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0] == "HTTP/1.1", let status = Int(words[1]) else { return nil }
        self.status = status
        fields = lines.dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            return (line[..<colon].lowercased(), value)
        }
    }

    /// The first field of this name, given in lower case.
    package func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    package var text: String { String(decoding: body, as: UTF8.self) }

    package var json: JSONObject? { (try? JSONParser.parse(body))?.objectValue }

    package func text(_ member: String) throws -> String {
        guard let text = json?[member]?.stringValue else { throw Problem.noMember(member, in: self) }
        return text
    }

    package func integer(_ member: String) throws -> Int64 {
        guard let integer = json?[member]?.integerValue else { throw Problem.noMember(member, in: self) }
        return integer
    }

    package var description: String { "\(status) \(text)" }
}
