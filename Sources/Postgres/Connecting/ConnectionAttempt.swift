import CLibPQ
import Glibc
import Primitives
import Reactor

/// One attempt to connect to one host, without blocking the loop. Bound to its loop; used once.
///
/// SAFETY: the `PGconn` belongs to this object until `run` hands it out or frees it.
final class ConnectionAttempt {
    private let loop: EventLoop
    private var connection: OpaquePointer?
    private var watcher: Watcher?
    private var timer: LoopTimer?
    private var failure: DatabaseFault?
    private var waiter: UnsafeContinuation<Void, Never>?

    init(on loop: EventLoop) {
        self.loop = loop
    }

    /// The connection, ready for statements; the caller frees it.
    ///
    /// - Parameter secrets: what no message may show.
    func run(
        _ keywords: [(name: String, value: String)], hiding secrets: [String], timeout: Duration
    ) async throws(DatabaseFault) -> OpaquePointer {
        guard let started = Self.begin(keywords) else { throw DatabaseFault(.exhausted, "no memory is left") }
        connection = started
        self.secrets = secrets
        timer = loop.schedule(after: timeout) { [weak self] in
            let place = keywords.first { $0.name == "hostaddr" } ?? keywords.first { $0.name == "host" }
            self?.finish(
                DatabaseFault(
                    .dependency,
                    "no answer from \(place?.value ?? "the server") within \(timeout.wholeMilliseconds) ms",
                    advice: "correct host and port in the URL, or let the firewall pass"))
        }
        // Until told otherwise, libpq waits for the socket to take bytes.
        if PQstatus(started) == CONNECTION_BAD {
            finish(fault(of: started))
        } else {
            watch(started, .write)
        }
        if waitsStill {
            await withUnsafeContinuation { waiter = $0 }
        }
        if let failure {
            PQfinish(started)
            connection = nil
            throw failure
        }
        connection = nil
        return started
    }

    private var secrets: [String] = []
    private var isDone = false
    private var waitsStill: Bool { !isDone }

    static func begin(_ keywords: [(name: String, value: String)]) -> OpaquePointer? {
        var names: [UnsafeMutablePointer<CChar>?] = keywords.map { strdup($0.name) }
        var values: [UnsafeMutablePointer<CChar>?] = keywords.map { strdup($0.value) }
        defer { (names + values).forEach { free($0) } }
        names.append(nil)
        values.append(nil)
        let connection = PQconnectStartParams(
            names.map { UnsafePointer($0) }, values.map { UnsafePointer($0) }, 0)
        // The message of a refusal then holds its SQLSTATE, which nothing else tells here.
        PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
        // Notices go to standard error otherwise, with whatever is in them.
        PQsetNoticeProcessor(connection, { _, _ in }, nil)
        return connection
    }

    private func advance() {
        // libpq may close the socket and open another one under the same number: never keep a registration over a poll.
        watcher?.close()
        watcher = nil
        guard let connection, !isDone else { return }
        switch PQconnectPoll(connection) {
        case PGRES_POLLING_READING: watch(connection, .read)
        case PGRES_POLLING_WRITING: watch(connection, .write)
        case PGRES_POLLING_OK: finish(nil)
        default: finish(fault(of: connection))
        }
    }

    private func watch(_ connection: OpaquePointer, _ interest: Interest) {
        do {
            watcher = try loop.watch(PQsocket(connection), interest) { [weak self] _ in self?.advance() }
        } catch {
            finish(DatabaseFault(.exhausted, "the socket cannot be watched"))
        }
    }

    private func finish(_ failure: DatabaseFault?) {
        guard !isDone else { return }
        isDone = true
        self.failure = failure
        watcher?.close()
        watcher = nil
        timer?.cancel()
        timer = nil
        let parked = waiter
        waiter = nil
        parked?.resume()
    }

    private func fault(of connection: OpaquePointer) -> DatabaseFault {
        ConnectFailure(message: PQerrorMessage(connection).map { String(cString: $0) } ?? "").fault(hiding: secrets)
    }
}
