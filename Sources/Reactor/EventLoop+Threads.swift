import Glibc

/// Meetings of a loop with threads that are none.
extension EventLoop {
    /// Runs a body that computes for long, or blocks, on a thread of its own, and comes back to the loop with its result.
    package func offload<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
        assertCurrent()
        return await withUnsafeContinuation { continuation in
            LoopThread().start(detached: true) {
                let result = body()
                self.post { continuation.resume(returning: result) }
            }
        }
    }

    /// Runs an async body on the loop and blocks the calling thread until it has ended: for a main thread that has
    /// nothing else to do.
    ///
    /// - Precondition: not called on a loop.
    package func runBlocking<Result: Sendable>(_ body: @escaping @Sendable () async -> Result) -> Result {
        precondition(EventLoop.current == nil, "a loop must not wait for a loop")
        let meeting = Meeting<Result>()
        spawn { meeting.finish(await body()) }
        return meeting.wait()
    }
}

/// One result that one thread waits for.
private final class Meeting<Result: Sendable>: @unchecked Sendable {
    // SAFETY: `result` is touched with `mutex` held; the waiting thread outlives the finishing one's use.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let finished = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var result: Result?

    init() {
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        finished.initialize(to: pthread_cond_t())
        pthread_cond_init(finished, nil)
    }

    deinit {
        pthread_cond_destroy(finished)
        finished.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    func finish(_ value: Result) {
        pthread_mutex_lock(mutex)
        result = value
        pthread_cond_signal(finished)
        pthread_mutex_unlock(mutex)
    }

    func wait() -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result { return result }
            pthread_cond_wait(finished, mutex)
        }
    }
}
