import Glibc
import Primitives

/// The server as a child of one thread of its own.
///
/// The kernel sends the parent-death signal when the *thread* that started the child ends, not when the process does.
/// So one thread starts it, and does nothing but wait for it as long as it lives.
final class EmbeddedPostgresProcess: Sendable {
    private enum State {
        case starting
        case running(pid_t)
        case ended
        case failed(EmbeddedPostgresError)
    }

    private let command: ChildProcess
    private let log: Int32
    private let state = Locked(State.starting)

    /// Returns once the program is started.
    ///
    /// - Parameter logPath: where both outputs go; what it held is dropped.
    init(_ command: ChildProcess, logPath: String) throws(EmbeddedPostgresError) {
        self.command = command
        log = open(logPath, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard log >= 0 else {
            throw .folderUnusable(path: logPath, reason: String(cString: strerror(errno)))
        }
        try startThread()
        let isStarted = waitUntil(limit: EmbeddedPostgresLimits.start) {
            if case .starting = current { false } else { true }
        }
        if case .failed(let error) = current { throw error }
        guard isStarted else { throw .didNotStart(log: "the thread did not run") }
    }

    deinit { close(log) }

    var isRunning: Bool { processID != nil }

    var processID: pid_t? {
        if case .running(let processID) = current { processID } else { nil }
    }

    /// False when the program still runs at the end of the limit.
    func waitForEnd(limit: Duration) -> Bool {
        waitUntil(limit: limit) { !isRunning }
    }

    private var current: State { state.withLock { $0 } }

    private func startThread() throws(EmbeddedPostgresError) {
        // No signal of the process is for this thread; it inherits the mask of the one that makes it.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }

        // SAFETY: the thread takes over this reference and releases it when it ends.
        let me = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let code = pthread_create(&thread, nil, embeddedPostgresThread, me.toOpaque())
        guard code == 0 else {
            me.release()
            throw .didNotStart(log: "no thread: \(String(cString: strerror(code)))")
        }
        pthread_detach(thread)
    }

    fileprivate func live() {
        let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
        defer { close(nothing) }
        do throws(EmbeddedPostgresError) {
            let child = try command.spawn(standardInput: nothing, standardOutput: log, standardError: log)
            state.withLock { $0 = .running(child) }
            _ = ChildProcess.wait(for: child)
            state.withLock { $0 = .ended }
        } catch {
            state.withLock { $0 = .failed(error) }
        }
    }
}

/// A free function: a closure written in an isolated context would inherit that isolation and trap here.
private func embeddedPostgresThread(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if let argument { Unmanaged<EmbeddedPostgresProcess>.fromOpaque(argument).takeRetainedValue().live() }
    return nil
}
