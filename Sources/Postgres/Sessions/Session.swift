import CLibPQ
import Glibc
import Reactor
import Telemetry

/// Who holds sessions and is told what happens to them.
protocol SessionOwner: AnyObject {
    /// `call.outcome` is set. Not called for the calls of an exchange, nor for those of a lost connection.
    func session(_ session: Session, didSettle call: Call)
    /// Called once, also when nothing was on its way. `calls` are those without an outcome, in the order sent.
    func session(_ session: Session, didLose calls: [Call], because reason: Unavailability)
}

/// One connection in libpq's pipeline mode: statements go out without waiting for the answers to earlier ones.
///
/// A *batch* is what lies between two syncs. It is one implicit transaction: an error undoes the statements before it
/// and aborts those after it. Shared sessions therefore carry reads only, and a write is a batch of its own.
///
/// SAFETY: bound to its loop. The `PGconn` is owned from `init` to `close` or `lose`, whichever comes first.
final class Session {
    enum Role { case reader, idle, lent }

    private enum Step {
        case prepare(Call, Statement)
        case execute(Call)
        case sync(Exchange?)
    }

    private struct Pending {
        let step: Step
        let deadline: ContinuousClock.Instant
    }

    private let loop: EventLoop
    private weak var owner: (any SessionOwner)?
    private var connection: OpaquePointer?
    private var watcher: Watcher?
    private var watchdog: LoopTimer?
    private var watchdogDeadline = ContinuousClock.now
    private var pending = Queue<Pending>()
    private var hasUnsyncedSteps = false
    private var isSyncScheduled = false
    private var wantsWrite = false
    private var preparations = Preparations()
    private var script: Script?

    var role = Role.lent
    /// Called for each NOTIFY that arrives.
    var onNotification: (() -> Void)?
    /// Of the last statement that the server refused.
    private(set) var refusal: StatementRefusal?
    /// The host does not take writes: not to be used again.
    private(set) var isReadOnlyHost = false

    /// Takes the connection over, also when it throws.
    init(_ connection: OpaquePointer, owner: any SessionOwner, on loop: EventLoop) throws(DatabaseError) {
        self.connection = connection
        self.owner = owner
        self.loop = loop
        guard PQsetnonblocking(connection, 1) == 0, PQenterPipelineMode(connection) == 1 else {
            PQfinish(connection)
            self.connection = nil
            throw .unavailable(.dependency)
        }
        do {
            watcher = try loop.watch(PQsocket(connection), .read) { [weak self] in self?.ready($0) }
        } catch {
            PQfinish(connection)
            self.connection = nil
            throw .unavailable(.exhausted)
        }
    }

    var isOpen: Bool { connection != nil }
    var load: Int { pending.count }

    /// Nothing on its way, no transaction open, and the host is still the right one.
    var isReusable: Bool {
        guard let connection, pending.isEmpty, !isReadOnlyHost else { return false }
        return PQtransactionStatus(connection) == PQTRANS_IDLE
    }

    /// Looks for news that has not been dispatched yet: a backend that said goodbye a moment ago gets no statement.
    ///
    /// - Precondition: nothing is on its way.
    func checkIsOpen() -> Bool {
        guard let connection else { return false }
        var byte: UInt8 = 0
        let peeked = recv(PQsocket(connection), &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        if peeked >= 0 {
            // The goodbye first, then the end of the stream.
            consumeInput()
            consumeInput()
        }
        return isOpen
    }

    // MARK: Sending

    /// Hands a read to libpq; it goes out with all others of this turn of the loop.
    ///
    /// - Returns: `false` when the connection is gone; `call` is then still the caller's.
    func send(_ call: Call) -> Bool {
        if call.isIsolated {
            syncNow(nil, deadline: call.deadline)
            guard enqueue(call) else { return false }
            syncNow(nil, deadline: call.deadline)
            return true
        }
        guard enqueue(call) else { return false }
        if !isSyncScheduled {
            isSyncScheduled = true
            loop.atEndOfTurn { [weak self] in
                self?.isSyncScheduled = false
                self?.syncNow(nil, deadline: call.deadline)
            }
        }
        return true
    }

    /// Sends a batch and waits for its end. Each call has an outcome then.
    func exchange(_ calls: [Call]) async {
        let exchange = Exchange(calls)
        for (index, call) in calls.enumerated() where !enqueue(call) {
            // What libpq took before it failed has been settled as lost.
            for unsent in calls[index...] { unsent.outcome = .unsent }
            return
        }
        syncNow(exchange, deadline: calls.last?.deadline ?? .now)
        await exchange.wait()
    }

    private func enqueue(_ call: Call) -> Bool {
        guard let connection else { return false }
        switch call.text {
        case .plain(let text):
            guard PQsendQueryParams(connection, text.description, 0, nil, nil, nil, nil, 1) == 1 else {
                return failSend()
            }
        case .unnamed(let statement, let parameters):
            let types = statement.parameters.map { Oid($0.oid) }
            let sent = parameters.withPointers { count, values, lengths, formats in
                PQsendQueryParams(connection, statement.sql.text, count, types, values, lengths, formats, 1)
            }
            guard sent == 1 else { return failSend() }
        case .prepared(let statement, let parameters):
            let name = preparations.serverName(of: statement)
            if preparations.begin(statement) {
                let types = statement.parameters.map { Oid($0.oid) }
                guard PQsendPrepare(connection, name, statement.sql.text, Int32(types.count), types) == 1 else {
                    return failSend()
                }
                append(.prepare(call, statement), call.deadline)
            }
            let sent = parameters.withPointers { count, values, lengths, formats in
                PQsendQueryPrepared(connection, name, count, values, lengths, formats, 1)
            }
            guard sent == 1 else { return failSend() }
        }
        append(.execute(call), call.deadline)
        hasUnsyncedSteps = true
        return true
    }

    private func failSend() -> Bool {
        lose(.dependency)
        return false
    }

    private func syncNow(_ exchange: Exchange?, deadline: ContinuousClock.Instant) {
        guard let connection, hasUnsyncedSteps else { return }
        hasUnsyncedSteps = false
        append(.sync(exchange), deadline)
        guard PQpipelineSync(connection) == 1 else { return lose(.dependency) }
        flush()
    }

    private func flush() {
        guard let connection else { return }
        switch PQflush(connection) {
        case 0: setWantsWrite(false)
        case 1: setWantsWrite(true)
        default: lose(.dependency)
        }
    }

    private func setWantsWrite(_ wants: Bool) {
        guard wants != wantsWrite else { return }
        wantsWrite = wants
        watcher?.update(wants ? [.read, .write] : .read)
    }

    // MARK: Answers

    private func ready(_ readiness: Readiness) {
        if readiness.contains(.writable) { flush() }
        consumeInput()
    }

    private func consumeInput() {
        guard let connection else { return }
        let isAlive = PQconsumeInput(connection) == 1
        if script != nil { drainScript() } else { drain() }
        takeNotifications()
        // A full socket may have taken more since the answers made room.
        if wantsWrite { flush() }
        if !isAlive || (self.connection != nil && PQstatus(connection) == CONNECTION_BAD) { lose(.dependency) }
    }

    private func takeNotifications() {
        while let connection, let notification = PQnotifies(connection) {
            PQfreemem(notification)
            onNotification?()
        }
    }

    private func drain() {
        var nothings = 0
        while let connection, let head = pending.first, PQisBusy(connection) == 0 {
            guard let pointer = PQgetResult(connection) else {
                // One null ends each statement; more in a row mean that libpq and we count differently.
                nothings += 1
                if nothings > 2 { return lose(.dependency) }
                continue
            }
            nothings = 0
            receive(ResultHandle(pointer), for: head.step)
        }
    }

    private func receive(_ result: ResultHandle, for step: Step) {
        switch result.status {
        case PGRES_PIPELINE_SYNC:
            guard case .sync(let exchange) = step else { return lose(.dependency) }
            _ = pending.popFirst()
            exchange?.finish()
        case PGRES_PIPELINE_ABORTED:
            settle(step, .aborted)
        case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY:
            settle(step, .rows(result))
        case PGRES_FATAL_ERROR:
            let state = result.sqlState
            refusal = StatementRefusal(state: state, message: result.message)
            let isLost = connection.map { PQstatus($0) == CONNECTION_BAD } ?? true
            if isLost || state.decision == .connectionLost { return lose(.dependency) }
            if state.decision == .readOnlyHost { isReadOnlyHost = true }
            settle(step, .failed(state, subject: result.subject))
        default:
            // COPY and the like: no statement of ours.
            lose(.dependency)
        }
    }

    private func settle(_ step: Step, _ outcome: Call.Outcome) {
        switch step {
        case .prepare(let call, let statement):
            _ = pending.popFirst()
            switch outcome {
            case .rows: break
            case .failed(let state, let subject):
                preparations.abandon(statement)
                call.preparationFailure = (state, subject)
            case .aborted, .lost, .unsent: preparations.abandon(statement)
            }
        case .execute(let call):
            _ = pending.popFirst()
            if case .failed(let state, _) = outcome, state.decision == .prepareAgain { forget(call) }
            if case .aborted = outcome, let (state, subject) = call.preparationFailure {
                call.preparationFailure = nil
                call.outcome = .failed(state, subject: subject)
            } else {
                call.outcome = outcome
            }
            if role == .reader { owner?.session(self, didSettle: call) }
        case .sync(let exchange):
            // The implicit commit failed: the statements before it answered, and have been undone.
            exchange?.fail(outcome)
        }
    }

    private func forget(_ call: Call) {
        if case .prepared(let statement, _) = call.text { preparations.forget(statement) }
    }

    // MARK: The end

    /// Says goodbye and frees the connection. For a session with nothing on its way.
    func close() {
        guard let connection else { return }
        release()
        PQfinish(connection)
    }

    /// Cuts the connection and tells the owner and all who wait.
    func lose(_ reason: Unavailability) {
        guard let connection else { return }
        release()
        // Not a graceful end: nothing may be sent, and so nothing can block.
        shutdown(PQsocket(connection), Int32(SHUT_RDWR))
        PQfinish(connection)

        var orphans: [Call] = []
        for pending in pending.removeAll() {
            switch pending.step {
            case .prepare: break
            case .execute(let call):
                call.outcome = .lost(reason)
                if role == .reader { orphans.append(call) }
            case .sync(let exchange):
                exchange?.fail(.lost(reason))
                exchange?.finish()
            }
        }
        script?.finish(.lost(reason))
        script = nil
        owner?.session(self, didLose: orphans, because: reason)
    }

    private func release() {
        connection = nil
        watcher?.close()
        watcher = nil
        watchdog?.cancel()
        watchdog = nil
        onNotification = nil
    }

    // MARK: Deadlines

    private func append(_ step: Step, _ deadline: ContinuousClock.Instant) {
        pending.append(Pending(step: step, deadline: deadline))
        watch(until: deadline)
    }

    /// One timer for the oldest statement, as answers come in order. It is left to run when the session becomes idle:
    /// a timer for each statement would cost more than the statement.
    private func watch(until deadline: ContinuousClock.Instant) {
        if watchdog != nil, watchdogDeadline <= deadline { return }
        watchdog?.cancel()
        watchdogDeadline = deadline
        let rest = ContinuousClock.now.duration(to: deadline)
        watchdog = loop.schedule(after: max(rest, .zero)) { [weak self] in self?.checkDeadline() }
    }

    private func checkDeadline() {
        watchdog = nil
        guard let deadline = script?.deadline ?? pending.first?.deadline else { return }
        if deadline <= .now { return lose(.busy) }
        watch(until: deadline)
    }

    // MARK: Scripts

    /// Runs several statements in one text by the simple query protocol, which pipelines do not have.
    ///
    /// - Precondition: nothing is on its way.
    func run(script text: String, deadline: ContinuousClock.Instant) async -> Call.Outcome {
        guard let connection else { return .unsent }
        precondition(pending.isEmpty && script == nil, "a script needs the session for itself")
        let script = Script(deadline: deadline)
        guard PQexitPipelineMode(connection) == 1, PQsendQuery(connection, text) == 1 else {
            lose(.dependency)
            return .unsent
        }
        self.script = script
        watch(until: deadline)
        flush()
        return await script.wait()
    }

    private func drainScript() {
        while let connection, let script, PQisBusy(connection) == 0 {
            guard let pointer = PQgetResult(connection) else {
                if PQstatus(connection) == CONNECTION_BAD { return }
                self.script = nil
                if PQenterPipelineMode(connection) != 1 { lose(.dependency) }
                return script.finish(nil)
            }
            let result = ResultHandle(pointer)
            switch result.status {
            case PGRES_FATAL_ERROR:
                refusal = StatementRefusal(state: result.sqlState, message: result.message)
                script.record(.failed(result.sqlState, subject: result.subject))
            case PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH: return lose(.misconfigured)
            default: script.record(.rows(result))
            }
        }
    }
}
