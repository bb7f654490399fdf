import Glibc

/// Signals taken by waiting instead of by handlers: the main thread's only work.
package enum Signals {
    /// Blocks the signals for every thread started afterwards, and ignores SIGPIPE: libssl writes without MSG_NOSIGNAL.
    /// Call it before the first thread.
    package static func block(_ signals: [Int32]) {
        signal(SIGPIPE, SIG_IGN)
        var set = mask(signals)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    /// Waits, blocking, for one of the blocked signals.
    package static func next(of signals: [Int32]) -> Int32 {
        var set = mask(signals)
        var received: Int32 = 0
        while sigwait(&set, &received) != 0 {}
        return received
    }

    /// Calls `action` at the next of the blocked signals, on a thread of its own.
    package static func onNext(of signals: [Int32], _ action: @escaping @Sendable (Int32) -> Void) {
        LoopThread().start(detached: true) { action(next(of: signals)) }
    }

    private static func mask(_ signals: [Int32]) -> sigset_t {
        var set = sigset_t()
        sigemptyset(&set)
        for signal in signals { sigaddset(&set, signal) }
        return set
    }
}
