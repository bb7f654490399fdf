import Glibc

/// A value behind a mutex.
///
/// `pthread_mutex_t` and not `Synchronization.Mutex`: the latter is a bare futex that the thread sanitizer does not see.
package final class Locked<Value>: @unchecked Sendable {
    // SAFETY: both pointers are owned by this object and freed in deinit; the value is touched only with the mutex held.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let value: UnsafeMutablePointer<Value>

    package init(_ initial: Value) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        value = .allocate(capacity: 1)
        value.initialize(to: initial)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
        value.deinitialize(count: 1)
        value.deallocate()
    }

    /// No `await` can stand in the body: it is not async.
    package func withLock<Result, Failure: Error>(
        _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&value.pointee)
    }
}
