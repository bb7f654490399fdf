import HTTP
import Primitives
import Reactor
import Telemetry

/// One loop's share of a server: its listener, its connections and the buffers that they borrow.
final class LoopServer {
    // SAFETY: `scratch` is owned here and freed in deinit; the class is touched on its loop alone (behind `LoopBound`).
    let loop: EventLoop
    let application: any HTTPApplication
    let configuration: HTTPServerConfiguration
    let logger: Logger
    /// The loop's one read buffer. Valid from a read's return to the next suspension: copy out at once.
    let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: Limits.scratchBytes, alignment: 16)
    private(set) var isDraining = false
    var closesAfterAnswers = false

    private let listener: Listener
    private let count: ConnectionCount
    private var date: DateCache
    private var connections: [ObjectIdentifier: Connection] = [:]
    /// Connections of the reserve, the oldest first.
    private var reserved: [Connection] = []
    private let reservedMax: Int
    private var turnedAwayCount = 0
    private var answersInWork = 0
    private var spareOutputs: [[UInt8]] = []
    /// Bytes in buffers of connections that wait: see `HTTPServerConfiguration.waitingBytesMax`.
    private var waitingBytes = 0
    private let waitingBytesMax: Int
    private var drainWaiters: [UnsafeContinuation<Void, Never>] = []

    init(
        loop: EventLoop, listener: Listener, application: any HTTPApplication,
        configuration: HTTPServerConfiguration, share waitingBytesMax: Int, reserve reservedMax: Int,
        count: ConnectionCount, logger: Logger
    ) {
        self.loop = loop
        self.listener = listener
        self.application = application
        self.configuration = configuration
        self.waitingBytesMax = waitingBytesMax
        self.reservedMax = reservedMax
        self.count = count
        self.logger = logger
        date = DateCache(clock: configuration.clock)
    }

    deinit {
        scratch.deallocate()
    }

    func acceptUntilClosed() async {
        while let socket = await listener.accept() { admit(socket) }
    }

    private func admit(_ socket: Socket) {
        let peer = socket.peer.ipAddress
        let client = configuration.client(of: peer)
        switch count.enter(client) {
        case .admitted:
            let connection = Connection(socket, of: self, countedAs: client)
            connections[ObjectIdentifier(connection)] = connection
            return serve(connection)
        case .full:
            logger.throttled(
                .warning, "connection limit reached", [LogField("connections.max", configuration.connectionsMax)])
        case .clientFull:
            logger.throttled(
                .warning, "an address has as many connections as it may have",
                [
                    LogField("client.address", peer.description),
                    LogField("connections.max", configuration.connectionsPerAddress ?? .max),
                ])
        }
        let connection = Connection(socket, of: self, isReserved: true)
        if makesRoomInReserve() { reserve(connection) } else { turnAway(connection) }
    }

    /// A task until the connection ends or rests; another one when it is woken.
    private func serve(_ connection: Connection) {
        let bound = LoopBound(connection, on: loop)
        loop.spawn {
            let connection = bound.value
            switch await connection.serve() {
            case .ended: connection.server.leave(connection)
            case .rests: connection.whenWoken { connection.server.serve(connection) }
            }
        }
    }

    private func leave(_ connection: Connection) {
        count.leave(connection.client)
        remove(connection)
    }

    /// Connections that have not sent a whole request give way, the oldest first: so a flood of silent ones cannot take
    /// the reserve, and a request that comes with its connection is read before the next ones are accepted.
    private func makesRoomInReserve() -> Bool {
        if reserved.count < reservedMax { return true }
        guard let index = reserved.firstIndex(where: { $0.phase != .working }) else { return false }
        reserved.remove(at: index).close()
        return true
    }

    private func reserve(_ connection: Connection) {
        reserved.append(connection)
        connections[ObjectIdentifier(connection)] = connection
        let bound = LoopBound(connection, on: loop)
        loop.spawn {
            let connection = bound.value
            _ = await connection.serve()
            connection.server.reserved.removeAll { $0 === connection }
            connection.server.remove(connection)
        }
    }

    /// Over the limit: a short answer tells the client to come back, as long as few are told at a time.
    private func turnAway(_ connection: Connection) {
        guard turnedAwayCount < Limits.turnedAwayMax else { return connection.close() }
        turnedAwayCount += 1
        connections[ObjectIdentifier(connection)] = connection
        let bound = LoopBound(connection, on: loop)
        loop.spawn {
            await bound.value.turnAway()
            bound.value.server.turnedAwayCount -= 1
            bound.value.server.remove(bound.value)
        }
    }

    private func remove(_ connection: Connection) {
        connections[ObjectIdentifier(connection)] = nil
        if connections.isEmpty { resumeDrainWaiters() }
    }

    // MARK: Drain

    func drain(within limit: Duration) async {
        isDraining = true
        closesAfterAnswers = true
        for socket in listener.acceptQueued() { admit(socket) }
        listener.close()
        // A turn later and behind all who wait: whoever has a request in its socket has read it by then and is at rest no
        // more.
        await loop.sleep(for: .zero)
        await loop.pass()
        closeConnections { $0.phase == .idle }
        let grace = loop.schedule(after: min(Limits.freshConnectionGrace, limit)) { [self] in
            closeConnections { $0.phase == .fresh }
        }
        let end = loop.schedule(after: limit) { [self] in
            if !connections.isEmpty {
                logger.warning("drain ended with open connections", [LogField("connections.open", connections.count)])
            }
            closeConnections { _ in true }
            resumeDrainWaiters()
        }
        if !connections.isEmpty {
            await withUnsafeContinuation { drainWaiters.append($0) }
        }
        grace.cancel()
        end.cancel()
    }

    private func closeConnections(where matches: (Connection) -> Bool) {
        for connection in connections.values where matches(connection) { connection.close() }
    }

    private func resumeDrainWaiters() {
        let waiters = drainWaiters
        drainWaiters = []
        for waiter in waiters { waiter.resume() }
    }

    // MARK: What connections borrow

    func currentDate() -> [UInt8] {
        date.current()
    }

    /// - Returns: whether the sum is within the loop's share.
    func count(waitingBytes change: Int) -> Bool {
        waitingBytes += change
        return waitingBytes <= waitingBytesMax
    }

    /// - Returns: the answers that this loop works on, the new one included; each needs its `endAnswer`.
    func beginAnswer() -> Int {
        answersInWork += 1
        return answersInWork
    }

    func endAnswer() {
        answersInWork -= 1
    }

    func takeOutput() -> [UInt8] {
        spareOutputs.popLast() ?? []
    }

    func giveBack(_ output: consuming [UInt8]) {
        guard output.capacity <= Limits.spareOutputBytesMax, spareOutputs.count < Limits.spareOutputsMax else { return }
        output.removeAll(keepingCapacity: true)
        spareOutputs.append(output)
    }
}
