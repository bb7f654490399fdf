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
        let missingReaders = configuration.readConnectionsMax - readers.count
        let missingExclusive = min(
            max(waiters.count, lacksWriter ? 1 : 0), configuration.exclusiveConnectionsMax - exclusiveCount)
        let missing = missingReaders + missingExclusive - connectingCount
        guard missing > 0 else { return }
        guard backoff.isFailing else { return (0..<missing).forEach { _ in open() } }
        // One at a time until the database answers again.
        if connectingCount == 0 { open(notBefore: backoff.nextAttempt) }
    }

    /// A second reader must not take the last connection that the role may have.
    private var lacksWriter: Bool {
        exclusiveCount == 0 && configuration.exclusiveConnectionsMax > 0 && !configuration.isReadOnly
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
        do throws(DatabaseFault) {
            let session = try await open(for: self)
            connectingCount -= 1
            reportRecovery()
            assign(session)
        } catch {
            connectingCount -= 1
            backoff.failed(error.reason, at: .now, jitter: jitter.next())
            if error.reason == .misconfigured { refuseWaiting(error.reason) }
        }
        scheduleFill()
    }

    /// A new connection goes to whoever needs it most.
    private func assign(_ session: Session) {
        if isClosed { return session.close() }
        let writersWait = !waiters.isEmpty && exclusiveCount < configuration.exclusiveConnectionsMax
        let readersFirst = readers.isEmpty && (!waitingReads.isEmpty || !writersWait)
        let wantsReader = readers.count < configuration.readConnectionsMax
        if readersFirst || (wantsReader && !writersWait && !lacksWriter) {
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
