import Reactor

/// A connection that waits for NOTIFY and does nothing else. Bound to the database's loop.
///
/// A notification is a hint: one that was sent while the connection was away is lost, and a pooler between here and the
/// server may lose all of them. Whoever listens also looks by itself, now and then.
final class Listening: SessionOwner {
    private let statements: [StaticString]
    private let onNews: () -> Void
    /// A database that listens lives until it is closed.
    private let database: Database
    private var session: Session?
    private var waiter: UnsafeContinuation<Void, Never>?
    private var backoff = Backoff()

    init(_ statements: [StaticString], of database: Database, onNews: @escaping () -> Void) {
        self.statements = statements
        self.database = database
        self.onNews = onNews
    }

    /// Until the database is closed.
    func run() async {
        while !database.isClosed {
            await listen()
            guard !database.isClosed else { return }
            backoff.failed(.dependency, at: .now, jitter: database.jitter.next())
            let slot = ConnectionThrottle.shared.reserve(from: max(backoff.nextAttempt ?? .now, .now))
            await database.loop.sleep(for: max(ContinuousClock.now.duration(to: slot), .zero))
        }
    }

    /// Returns once the connection is lost, or did not come about.
    private func listen() async {
        do throws(DatabaseFault) {
            let session = try await database.open(for: self)
            guard !database.isClosed else { return session.close() }
            self.session = session
            let calls = statements.map { Call(.plain($0), deadline: database.deadline) }
            await session.exchange(calls)
            guard calls.allSatisfy(\.hasRows), session.isOpen else { return session.lose(.dependency) }
            session.onNotification = onNews
            backoff.succeeded()
            // What was sent before this moment has been missed.
            onNews()
            if session.isOpen { await withUnsafeContinuation { waiter = $0 } }
        } catch {
            // The pool reports what is wrong with the database.
            return
        }
    }

    func close() {
        session?.lose(.closed)
    }

    func session(_ session: Session, didSettle call: Call) {}

    func session(_ session: Session, didLose calls: [Call], because reason: Unavailability) {
        self.session = nil
        let parked = waiter
        waiter = nil
        parked?.resume()
    }
}

extension Database {
    /// Listens on a connection of its own until `close()`: calls `onNews` on the loop when it begins to, after every
    /// gap, and for each notification.
    ///
    /// - Parameter statements: each `LISTEN` and the name of a channel.
    package func listen(_ statements: [StaticString], onNews: @escaping () -> Void) {
        assertOnLoop()
        let listening = Listening(statements, of: self, onNews: onNews)
        listenings.append(listening)
        let bound = LoopBound(listening, on: loop)
        loop.spawn { await bound.value.run() }
    }
}

extension Call {
    fileprivate var hasRows: Bool { if case .rows = outcome { true } else { false } }
}
