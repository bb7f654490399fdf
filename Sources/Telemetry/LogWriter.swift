import Glibc
import Primitives

/// Writes log lines to a descriptor from a thread of its own, so that a full pipe never blocks a request.
///
/// The first line is written at once, what follows is gathered for `Limits.logGatherNanoseconds`: a thread that is woken
/// for every line costs more than the line, and may keep a database on the same core from running.
///
/// At most `queueBytesMax` wait; what comes on top is dropped and counted, and the count is written as a line of its own
/// once there is room again.
package final class LogWriter: LogSink, @unchecked Sendable {
    // SAFETY: `state` is touched only with `mutex` held; the pointers live as long as this object, which its thread keeps.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    /// The thread waits for it; lines have come, or are wanted out.
    private let wanted = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// `flush` waits for it; lines have left.
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private let descriptor: Int32
    private var state = State()

    private struct State {
        var waiting: [UInt8] = []
        var droppedLines = 0
        var isWriting = false
        /// The thread waits for a first line, or for the end of gathering.
        var isAsleep = false
        var isFlushing = false
    }

    package init(descriptor: Int32) {
        self.descriptor = descriptor
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        wanted.initialize(to: pthread_cond_t())
        changed.initialize(to: pthread_cond_t())
        // Time-outs by the monotonic clock: a clock that is set must neither cut a flush short nor hang it.
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(changed, &attributes)
        pthread_cond_init(wanted, &attributes)
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
        if state.isAsleep { wake() }
    }

    private func wake() {
        state.isAsleep = false
        pthread_cond_signal(wanted)
    }

    /// Waits until everything written so far has left, at most about a second.
    package func flush() {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        var deadline = Self.instant(after: 1_000_000_000)
        state.isFlushing = true
        defer { state.isFlushing = false }
        wake()
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
            while state.waiting.isEmpty {
                state.isAsleep = true
                pthread_cond_wait(wanted, mutex)
            }
            state.isAsleep = false
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
            gather()
            pthread_mutex_unlock(mutex)
        }
    }

    /// Lets lines come together, unless they are wanted out. With `mutex` held.
    private func gather() {
        var end = Self.instant(after: Limits.logGatherNanoseconds)
        while !state.isFlushing {
            guard pthread_cond_timedwait(wanted, mutex, &end) == 0 else { return }
        }
    }

    private static func instant(after nanoseconds: Int) -> timespec {
        var instant = timespec()
        clock_gettime(CLOCK_MONOTONIC, &instant)
        let sum = instant.tv_nsec + nanoseconds
        instant.tv_sec += sum / 1_000_000_000
        instant.tv_nsec = sum % 1_000_000_000
        return instant
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
