import Foundation
import Primitives

/// A relay between two loopback ports that loses what passes through it, on purpose and on demand.
///
/// Each connection is a thread that polls both ends. What it does is decided by the mode of the moment.
package final class CutRelay: Sendable {
    package enum Mode: Equatable, Sendable {
        case pass
        /// The work is done, its answer is lost.
        case dropAnswers(share: Double)
        /// The request is lost before the work begins.
        case dropRequests(share: Double)
        /// The answer ends in its middle.
        case halveAnswers(share: Double)
        /// Nothing moves, nothing is refused.
        case blackHole
        /// Connections end at once, those that stand too.
        case refuse
        /// Postgres: the change is committed, the word of it is lost.
        case dropUpdates(share: Double)
    }

    package let port: UInt16
    private let listener: Int32
    private let state: Locked<State>

    private struct State {
        var mode = Mode.pass
        var strikes = 0
        var target: UInt16
        var isClosed = false
    }

    package init(to target: UInt16) throws {
        state = Locked(State(target: target))
        (listener, port) = try Loopback.listen()
        Thread.detachNewThread { [self] in acceptUntilClosed() }
    }

    deinit { Foundation.close(listener) }

    package var mode: Mode {
        get { state.withLock { $0.mode } }
        set { state.withLock { $0.mode = newValue } }
    }

    package var target: UInt16 {
        get { state.withLock { $0.target } }
        set { state.withLock { $0.target = newValue } }
    }

    /// How often a connection was cut, held or refused since the count was taken last.
    package func takeStrikes() -> Int {
        state.withLock { state in
            defer { state.strikes = 0 }
            return state.strikes
        }
    }

    package func close() {
        state.withLock { $0.isClosed = true }
        shutdown(listener, Int32(SHUT_RDWR))
    }

    private var isClosed: Bool { state.withLock { $0.isClosed } }

    private func strike() { state.withLock { $0.strikes += 1 } }

    private func acceptUntilClosed() {
        while !isClosed {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { continue }
            if mode == .refuse {
                strike()
                Foundation.close(client)
                continue
            }
            Thread.detachNewThread { [self] in relay(client) }
        }
    }

    private func relay(_ client: Int32) {
        defer { Foundation.close(client) }
        guard let server = Loopback.connect(to: target) else { return }
        defer { Foundation.close(server) }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var polls = [
            pollfd(fd: client, events: Int16(POLLIN), revents: 0),
            pollfd(fd: server, events: Int16(POLLIN), revents: 0),
        ]
        while !isClosed {
            polls[0].revents = 0
            polls[1].revents = 0
            guard poll(&polls, 2, 50) >= 0 else { return }
            switch mode {
            case .refuse:
                strike()
                return
            case .blackHole:
                if polls[0].revents != 0 || polls[1].revents != 0 {
                    strike()
                    usleep(20_000)
                }
                continue
            default: break
            }
            if polls[0].revents != 0, !move(from: client, to: server, &buffer, isAnswer: false) { return }
            if polls[1].revents != 0, !move(from: server, to: client, &buffer, isAnswer: true) { return }
        }
    }

    /// - Returns: `false` when the connection has ended, by an end or by a cut.
    private func move(from source: Int32, to sink: Int32, _ buffer: inout [UInt8], isAnswer: Bool) -> Bool {
        let count = recv(source, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        let bytes = buffer[..<count]
        switch mode {
        case .dropAnswers(let share) where isAnswer && chance(share):
            strike()
            return false
        case .dropRequests(let share) where !isAnswer && chance(share):
            strike()
            return false
        case .halveAnswers(let share) where isAnswer && chance(share):
            strike()
            _ = Loopback.send(bytes.prefix(count / 2), to: sink)
            return false
        case .dropUpdates(let share) where isAnswer && Self.tellsOfUpdate(bytes) && chance(share):
            strike()
            return false
        default:
            return Loopback.send(bytes, to: sink)
        }
    }

    /// CommandComplete of an UPDATE, as Postgres's protocol writes it: `C`, four bytes of length, the tag.
    private static func tellsOfUpdate(_ bytes: ArraySlice<UInt8>) -> Bool {
        bytes.firstRange(of: Array("UPDATE 1\0".utf8)) != nil
    }

    private func chance(_ share: Double) -> Bool { SeededChance.happens(share) }
}

/// Blocking sockets of 127.0.0.1.
package enum Loopback {
    enum Problem: Error {
        case noPort
    }

    static func listen() throws -> (Int32, UInt16) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && Foundation.listen(descriptor, 128) == 0
                    && getsockname(descriptor, $0, &length) == 0
            }
        }
        guard isBound else { throw Problem.noPort }
        return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    package static func connect(to port: UInt16) -> Int32? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var one: Int32 = 1
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        if isConnected { return descriptor }
        close(descriptor)
        return nil
    }

    package static func send(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
