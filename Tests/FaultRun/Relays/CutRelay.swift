import AuthTesting
import Foundation
import Primitives

/// A relay between two loopback ports that loses what passes through it, on purpose and on demand.
///
/// Each connection is a thread that polls both ends. What becomes of a message is decided by the mode of the moment.
package final class CutRelay: Sendable {
    package enum Traffic: Sendable {
        case http, postgres
    }

    package enum Mode: Equatable, Sendable {
        case pass
        /// The work is done, the word of it is lost. Postgres: what was lost is the acknowledgement of a commit.
        case loseAnswers(share: Double)
        /// The request is lost before the work begins. Postgres: the write or the COMMIT itself.
        case loseRequests(share: Double)
        /// The answer ends in its middle.
        case halveAnswers(share: Double)
        /// Every answer comes so much later.
        case delay(seconds: Double)
        /// Nothing moves, nothing is refused.
        case blackHole
        /// Connections end at once, those that stand too.
        case refuse
    }

    package let port: UInt16
    private let traffic: Traffic
    private let random: SeededRandom
    private let listener: Int32
    private let state: Locked<State>

    private struct State {
        var mode = Mode.pass
        var strikes = 0
        var target: UInt16
        var isClosed = false
    }

    package init(to target: UInt16, _ traffic: Traffic, seed: UInt64 = 1) throws {
        self.traffic = traffic
        random = SeededRandom(seed: seed)
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

    /// How often a message or a connection was lost, cut, held or refused since the count was taken last.
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
            guard client >= 0 else {
                usleep(1_000)
                continue
            }
            if mode == .refuse {
                strike()
                Loopback.reset(client)
                continue
            }
            let thread = Thread { [self] in relay(client) }
            thread.stackSize = 1 << 19
            thread.start()
        }
    }

    private func relay(_ client: Int32) {
        var one: Int32 = 1
        setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        guard let server = Loopback.connect(to: target) else {
            Loopback.reset(client)
            return
        }
        let isWhole: Bool
        switch traffic {
        case .http: isWhole = pump(client, server, HTTPExchange())
        case .postgres: isWhole = pump(client, server, PostgresExchange())
        }
        if isWhole { Foundation.close(client) } else { Loopback.reset(client) }
        Foundation.close(server)
    }

    /// - Returns: `false` where the connection was cut.
    private func pump(_ client: Int32, _ server: Int32, _ exchange: consuming some RelayProtocol) -> Bool {
        var exchange = exchange
        var polls = [
            pollfd(fd: client, events: Int16(POLLIN), revents: 0),
            pollfd(fd: server, events: Int16(POLLIN), revents: 0),
        ]
        var isHeld = false
        while !isClosed {
            polls[0].revents = 0
            polls[1].revents = 0
            guard poll(&polls, 2, 50) >= 0 else { return false }
            switch mode {
            case .refuse:
                strike()
                return false
            case .blackHole where polls[0].revents != 0 || polls[1].revents != 0:
                // One strike for each connection that had something to say.
                if !isHeld { strike() }
                isHeld = true
                usleep(20_000)
                continue
            case .blackHole: continue
            default: isHeld = false
            }
            if polls[0].revents != 0 {
                let bytes = Loopback.receive(from: client)
                guard !bytes.isEmpty else { return true }
                for message in exchange.fromClient(bytes) where !pass(message, to: server) { return false }
            }
            if polls[1].revents != 0 {
                let bytes = Loopback.receive(from: server)
                let messages = bytes.isEmpty ? exchange.endOfServer() : exchange.fromServer(bytes)
                for message in messages where !pass(message, to: client) { return false }
                if bytes.isEmpty { return true }
            }
        }
        return false
    }

    /// - Returns: `false` where the connection is to be cut.
    private func pass(_ message: RelayedMessage, to sink: Int32) -> Bool {
        switch (mode, message.meaning) {
        case (.loseAnswers(let share), .done) where random.chance(share),
            (.loseRequests(let share), .work) where random.chance(share):
            strike()
            return false
        case (.halveAnswers(let share), .done) where random.chance(share):
            strike()
            _ = Loopback.send(message.bytes.prefix(message.bytes.count / 2), to: sink)
            // What is on its way is to arrive before the reset does.
            usleep(20_000)
            return false
        case (.delay(let seconds), .done):
            strike()
            usleep(UInt32(seconds * 1_000_000))
            return Loopback.send(message.bytes[...], to: sink)
        default:
            return Loopback.send(message.bytes[...], to: sink)
        }
    }
}
