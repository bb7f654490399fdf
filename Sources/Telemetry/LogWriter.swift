import Glibc
import Primitives

/// Writes log lines to a descriptor from a thread of its own, so that a full pipe never blocks a request.
///
/// At most `queueBytesMax` wait; what comes on top is dropped and counted, and the count is written as a line of its own
/// once there is room again.
package final class LogWriter: LogSink, @unchecked Sendable {
    // SAFETY: `state` is touched only with `mutex` held; the pointers live as long as this object, which its thread keeps.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let descriptor: Int32
    private var state = State()

    private struct State {
        var waiting: [UInt8] = []
        var droppedLines = 0
        var isWriting = false
    }

    package init(descriptor: Int32) {
        self.descriptor = descriptor
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        changed.initialize(to: pthread_cond_t())
        // Time-outs by the monotonic clock: a clock that is set must neither cut a flush short nor hang it.
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_condattr_destroy(&attributes)
        startThread()
    }

    package func write(_ line: [UInt8]) {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        guard state.waiting.count + line.count <= Limits.logQueueBytesMax else {
            state.droppedLines += 1
            return
        }
        state.waiting += line
        pthread_cond_broadcast(changed)
    }

    /// Waits until everything written so far has left, at most about a second.
    package func flush() {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var deadline = timespec()
        clock_gettime(CLOCK_MONOTONIC, &deadline)
        deadline.tv_sec += 1
        while state.isWriting || !state.waiting.isEmpty {
            guard pthread_cond_timedwait(changed, mutex, &deadline) == 0 else { return }
        }
    }

    private func startThread() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self).toOpaque()
        let failure = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<LogWriter>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        precondition(failure == 0, "no thread for the log")
        pthread_detach(thread)
    }

    private func run() {
        while true {
            pthread_mutex_lock(mutex)
            while state.waiting.isEmpty { pthread_cond_wait(changed, mutex) }
            var lines = state.waiting
            state.waiting = []
            if state.droppedLines > 0 {
                lines += Array(
                    #"{"level":"warning","message":"log lines dropped","log.dropped":\#(state.droppedLines)}"#.utf8)
                lines.append(UInt8(ascii: "\n"))
                state.droppedLines = 0
            }
            state.isWriting = true
            pthread_mutex_unlock(mutex)

            writeAll(lines)

            pthread_mutex_lock(mutex)
            state.isWriting = false
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(mutex)
        }
    }

    private func writeAll(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0 {
                guard errno == EINTR else { return }
                continue
            }
            rest = rest.dropFirst(written)
        }
    }
}
