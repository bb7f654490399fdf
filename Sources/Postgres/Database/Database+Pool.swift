import Reactor
import Telemetry

extension Database {
    /// An exclusive connection; give it back with `checkIn`.
    func checkOut() async throws(DatabaseError) -> Session {
        if isClosed { throw .unavailable(.closed) }
        while let session = idle.popLast() {
            session.role = .lent
            if session.checkIsOpen(), session.isReusable { return session }
            checkIn(session)
        }
        guard waiters.count < Limits.waitingWritersMax else { throw .unavailable(.busy) }
        let waiter = PoolWaiter()
        waiter.expire(after: configuration.poolWait, on: loop) { [weak self] in
            self?.waiters.removeAll { $0 === waiter }
            return self?.backoff.reason ?? .busy
        }
        waiters.append(waiter)
        scheduleFill()
        return try await waiter.wait().get()
    }

    func checkIn(_ session: Session) {
        guard session.isReusable, !isClosed else {
            session.lose(session.isReadOnlyHost ? .readOnly : .dependency)
            exclusiveCount -= 1
            return scheduleFill()
        }
        lend(session)
    }

    private func lend(_ session: Session) {
        if let waiter = waiters.popFirst() {
            session.role = .lent
            waiter.finish(.success(session))
        } else {
            session.role = .idle
            idle.append(session)
        }
    }

    // MARK: Connections

    /// Opens what is missing, at the end of the turn: several losses in one turn are one event.
    func scheduleFill() {
        guard !isFillScheduled, !isClosed else { return }
        isFillScheduled = true
        loop.atEndOfTurn { [weak self] in
            guard let self else { return }
            isFillScheduled = false
            fill()
        }
    }

    private func fill() {
        guard !isClosed else { return }
        let missingReaders = Limits.readConnections - readers.count
        let missingExclusive = min(waiters.count, configuration.exclusiveConnectionsMax - exclusiveCount)
        let missing = missingReaders + missingExclusive - connectingCount
        guard missing > 0 else { return }
        guard backoff.isFailing else { return (0..<missing).forEach { _ in open() } }
        // One at a time until the database answers again.
        if connectingCount == 0 { open(notBefore: backoff.nextAttempt) }
    }

    private func open(notBefore instant: ContinuousClock.Instant? = nil) {
        connectingCount += 1
        loop.spawn { [weak self] in await self?.connect(notBefore: instant) }
    }

    private func connect(notBefore instant: ContinuousClock.Instant?) async {
        if let instant {
            let slot = ConnectionThrottle.shared.reserve(from: max(instant, .now))
            let pause = ContinuousClock.now.duration(to: slot)
            if pause > .zero { await loop.sleep(for: pause) }
            if isClosed { return }
        }
        do throws(DatabaseError) {
            let session = try Session(try await connector.connect(), owner: self, on: loop)
            // A server that shuts down greets and says goodbye in one breath.
            guard session.checkIsOpen() else { throw .unavailable(.dependency) }
            connectingCount -= 1
            reportRecovery()
            assign(session)
        } catch {
            connectingCount -= 1
            guard case .unavailable(let reason) = error else { return }
            reportFailure(reason)
            if reason == .misconfigured { refuseWaiting(reason) }
        }
        scheduleFill()
    }

    /// A new connection goes to whoever needs it most.
    private func assign(_ session: Session) {
        if isClosed { return session.close() }
        let writersWait = !waiters.isEmpty && exclusiveCount < configuration.exclusiveConnectionsMax
        let readersFirst = readers.isEmpty && (!waitingReads.isEmpty || !writersWait)
        if readersFirst || (!writersWait && readers.count < Limits.readConnections) {
            session.role = .reader
            readers.append(session)
            sendWaitingReads(on: session)
        } else if exclusiveCount < configuration.exclusiveConnectionsMax {
            exclusiveCount += 1
            lend(session)
        } else {
            session.close()
        }
    }

    /// Nothing gets better by waiting.
    private func refuseWaiting(_ reason: Unavailability) {
        for waiter in waiters.removeAll() { waiter.finish(.failure(.unavailable(reason))) }
        for read in waitingReads.removeAll() { read.call.finish(.failure(.unavailable(reason))) }
    }

    private func reportFailure(_ reason: Unavailability) {
        if backoff.reason != reason {
            logger.warning("no connection to the database", [LogField("db.reason", reason.rawValue)])
        }
        backoff.failed(reason, at: .now, jitter: jitter.next())
    }

    private func reportRecovery() {
        if backoff.isFailing {
            logger.info("connected to the database again", [LogField("db.attempts", backoff.failures + 1)])
        }
        backoff.succeeded()
    }
}

extension Database: SessionOwner {
    func session(_ session: Session, didSettle call: Call) {
        settleRead(call, on: session)
    }

    func session(_ session: Session, didLose calls: [Call], because reason: Unavailability) {
        switch session.role {
        case .reader: readers.removeAll { $0 === session }
        case .idle:
            idle.removeAll { $0 === session }
            exclusiveCount -= 1
        case .lent: break  // `checkIn` notices
        }
        logger.info("a connection to the database was given up", [LogField("db.reason", reason.rawValue)])
        recoverReads(calls, because: reason)
        scheduleFill()
    }
}
