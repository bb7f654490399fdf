import HTTP
import Primitives
import Reactor
import TLS
import Telemetry

/// Drives one connection: reads, asks the application, answers, in straight lines on one loop.
///
/// Requests on a connection are answered one by one in their order. Answers are gathered while whole requests are
/// buffered and sent before anything is waited for. At rest a connection holds no buffer.
final class Connection {
    /// What the connection waits for; each phase has one deadline for all of it.
    enum Phase {
        /// The first byte of the first request.
        case fresh
        /// The first byte of another request.
        case idle
        case head
        case content
        /// The application, or the peer to take what was written.
        case working
        /// The client to read the last answer.
        case lingering
    }

    let server: LoopServer
    /// Whose connections it is counted with.
    let client: IPAddress?
    private(set) var phase = Phase.fresh

    private let socket: Socket
    /// For one request to `Limits.reservedPaths` alone.
    private let isReserved: Bool
    /// Between the socket and HTTP once the handshake is done. Deadlines and the close stay the socket's.
    private var tls: TLSStream?
    private var hasBegun = false
    private var parser: RequestParser
    /// The head whose content is being received.
    private var head: RequestHead?
    /// The content that has been received for it, from its end to its answer.
    private var body: [UInt8] = []
    private var hasSentContinue = false
    private var output: [UInt8] = []
    private var answerCount = 0
    /// The part of the loop's waiting bytes that is this connection's.
    private var countedBytes = 0
    private lazy var peer = socket.peer.ipAddress

    init(_ socket: Socket, of server: LoopServer, countedAs client: IPAddress? = nil, isReserved: Bool = false) {
        self.socket = socket
        self.client = client
        self.isReserved = isReserved
        self.server = server
        parser = RequestParser(limits: server.configuration.limits)
    }

    /// Whoever waits on the socket gets an error and ends.
    func close() {
        tls?.finishWriting()
        socket.close()
    }

    /// How one turn of serving ended.
    enum Outcome {
        /// Either side has ended the connection; the socket is closed.
        case ended
        /// Nothing came for a while. A suspended task keeps some KiB, so this one ends and `whenWoken` begins another.
        case rests
    }

    /// Until either side ends it, or until it rests. Called again once the connection is woken.
    func serve() async -> Outcome {
        do throws(SocketError) {
            if try await begin() {
                if try await exchange() == .rests { return .rests }
            }
        } catch {
            logEnd(error)
        }
        close()
        count(waitingBytes: 0)
        return .ended
    }

    /// Calls `action` once, on the loop, when a connection at rest has to go on: it has bytes, or has come to its end.
    func whenWoken(_ action: @escaping () -> Void) {
        socket.whenReadable(action)
    }

    /// Answers that there is no room, without reading a request first.
    func turnAway() async {
        do throws(SocketError) {
            if try await begin() { try await refuse(.overloaded) }
        } catch {
            logEnd(error)
        }
        close()
    }

    /// The handshake, where TLS is spoken; once.
    ///
    /// - Returns: whether HTTP may follow.
    @inline(never)
    private func begin() async throws(SocketError) -> Bool {
        if hasBegun { return true }
        hasBegun = true
        let deadline = server.configuration.headerDeadline
        socket.setDeadline(after: isReserved ? min(deadline, Limits.reservedDeadline) : deadline)
        guard let context = server.configuration.certificates?.context else { return true }
        guard let stream = TLSStream(over: socket, context) else { return false }
        do throws(HandshakeError) {
            try await stream.handshake()
            tls = stream
            return true
        } catch {
            switch error {
            case .socket(let error): throw error
            case .plainRequest: try await refuse(.unacceptable(.malformed(.requestLine)))
            case .refused(let reason):
                server.logger.debug(
                    "handshake refused", [LogField("reason", reason), LogField("client.address", peer.description)])
            }
            return false
        }
    }

    /// A suspended function keeps room for all that any of its steps may need. So the steps are functions of their own,
    /// never inlined, and this one holds no message: that is what a connection at rest costs.
    private func exchange() async throws(SocketError) -> Outcome {
        while true {
            // A client that has sent more already does not keep the others waiting.
            if parser.hasPendingBytes, socket.loop.hasSpentShare { await socket.loop.pass() }
            switch nextStep() {
            case .receive:
                switch try await receive() {
                case .bytes: continue
                case .noRoom:
                    try await refuse(.overloaded)
                    return .ended
                case .end: return .ended
                case .nothing: return .rests
                }
            case .answer:
                guard try await answer() else { return .ended }
            case .refuse(let refusal):
                try await refuse(refusal)
                return .ended
            }
        }
    }

    private enum Step {
        case receive
        case answer
        case refuse(HTTPRefusal)
    }

    @inline(never)
    private func nextStep() -> Step {
        while true {
            switch parser.next() {
            case .needMore: return .receive
            case .head(let head):
                self.head = head
                hasSentContinue = false
            case .end(let body):
                self.body = body
                return .answer
            case .failed(let error):
                server.logger.debug(
                    "request refused",
                    [
                        LogField("http.status", error.status.code), LogField("reason", "\(error)"),
                        LogField("client.address", peer.description),
                    ])
                return .refuse(.unacceptable(error))
            }
        }
    }

    private enum Received {
        case bytes
        /// The rest of a message may not be waited for: too many bytes of too many clients wait already.
        case noRoom
        /// Nothing more is to come. A request that is cut short is dropped without an answer.
        case end
        /// Between two requests no byte came for a while.
        case nothing
    }

    /// Sends what is due and waits for more.
    @inline(never)
    private func receive() async throws(SocketError) -> Received {
        continueIfExpected()
        try await flush()
        enter(nextPhase)
        if phase == .idle {
            if server.isDraining { return .end }
            let isReady = tls?.hasPendingBytes ?? false
            if !isReady, await !socket.isReadable(within: server.configuration.timeToRest) { return .nothing }
        } else if !count(waitingBytes: parser.heldBytes + (head?.fields.heldBytes ?? 0)) {
            return .noRoom
        }
        let buffer = server.scratch
        let count = if let tls { try await tls.read(into: buffer) } else { try await socket.read(into: buffer) }
        guard count > 0 else { return .end }
        append(buffer[..<count])
        return .bytes
    }

    /// Puts what this connection holds into its loop's sum.
    ///
    /// - Returns: whether there is room for it.
    @discardableResult
    private func count(waitingBytes held: Int) -> Bool {
        let counted = max(0, held - Limits.bytesUncounted)
        defer { countedBytes = counted }
        return server.count(waitingBytes: counted - countedBytes) || counted == 0
    }

    /// RFC 9110 §10.1.1: not when content has arrived already.
    @inline(never)
    private func continueIfExpected() {
        guard let head, head.expectsContinue, !hasSentContinue, !parser.hasPendingBytes else { return }
        hasSentContinue = true
        output.append(contentsOf: ResponseSerializer.continueHead)
    }

    @inline(never)
    private func append(_ bytes: Slice<UnsafeMutableRawBufferPointer>) {
        parser.append(UnsafeRawBufferPointer(rebasing: bytes))
    }

    private var nextPhase: Phase {
        if head != nil { return .content }
        if parser.isInsideMessage { return .head }
        return answerCount == 0 ? .fresh : .idle
    }

    /// Sets a phase's deadline once, however many reads it takes.
    @inline(never)
    private func enter(_ next: Phase) {
        guard next != phase else { return }
        let isFirstHead = phase == .fresh && next == .head
        phase = next
        switch next {
        case .fresh: break
        case .idle: socket.setDeadline(after: server.configuration.idleDeadline)
        // The first head's runs from the connection's begin.
        case .head: if !isFirstHead { socket.setDeadline(after: server.configuration.headerDeadline) }
        case .content: socket.setDeadline(after: server.configuration.bodyDeadline)
        case .working, .lingering: break
        }
    }

    /// Answers the request that has been received.
    ///
    /// - Returns: whether the connection goes on.
    @inline(never)
    private func answer() async throws(SocketError) -> Bool {
        guard let head else { return false }
        var request = HTTPRequest(head: head, body: body, peer: peer)
        self.head = nil
        body = []
        phase = .working
        socket.setDeadline(after: nil)
        let response = await respond(to: &request)
        let keeps =
            head.keepsConnection && !response.closesConnection && !server.closesAfterAnswers && !isReserved
        write(response, isHead: request.method == .head, version: request.version, keeps: keeps)
        answerCount += 1
        if !keeps {
            try await flush()
            // A client that asked for the end sends nothing more; any other may have.
            if head.keepsConnection || parser.hasPendingBytes { try await linger() }
            return false
        }
        if output.count >= Limits.outputBytesBatched { try await flush() }
        return true
    }

    private func respond(to request: inout HTTPRequest) async -> HTTPResponse {
        if isReserved, !Limits.reservedPaths.contains(request.target.path) {
            return server.application.refuse(.overloaded, of: request)
        }
        request.concurrency = server.beginAnswer()
        defer { server.endAnswer() }
        return await server.application.respond(to: request)
    }

    @inline(never)
    private func refuse(_ refusal: HTTPRefusal) async throws(SocketError) {
        let response =
            if let head {
                server.application.refuse(refusal, of: HTTPRequest(head: head, body: [], peer: peer))
            } else {
                server.application.refuse(refusal)
            }
        write(response, isHead: head?.method == .head, version: .http11, keeps: false)
        try await flush()
        try await linger()
    }

    @inline(never)
    private func write(_ response: HTTPResponse, isHead: Bool, version: HTTPVersion, keeps: Bool) {
        if output.capacity == 0 { output = server.takeOutput() }
        ResponseSerializer.append(
            response,
            .init(
                isHead: isHead, version: version, keepsConnection: keeps, date: server.currentDate(),
                isSecure: tls != nil),
            to: &output)
    }

    @inline(never)
    private func flush() async throws(SocketError) {
        guard !output.isEmpty else { return }
        phase = .working
        let bytes = output
        output = []
        let hasRoom = count(waitingBytes: parser.heldBytes + bytes.capacity)
        // Without room what the kernel takes at once is sent, and nobody may read slowly.
        socket.setDeadline(after: hasRoom ? server.configuration.writeDeadline : .zero)
        if let tls { try await tls.write(bytes) } else { try await socket.write(bytes) }
        count(waitingBytes: 0)
        server.giveBack(consume bytes)
    }

    /// Lets the client read the last answer: see `Limits.lingerBytesMax`.
    @inline(never)
    private func linger() async throws(SocketError) {
        phase = .lingering
        tls?.finishWriting()
        socket.finishWriting()
        socket.setDeadline(after: Limits.lingerTime)
        var left = Limits.lingerBytesMax
        while left > 0 {
            let count = try await socket.read(into: server.scratch)
            guard count > 0 else { return }
            left -= count
            if socket.loop.hasSpentShare { await socket.loop.pass() }
        }
    }

    private func logEnd(_ error: SocketError) {
        server.logger.debug(
            "connection ended", [LogField("reason", "\(error)"), LogField("client.address", peer.description)])
    }
}
