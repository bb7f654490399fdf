import Glibc
import Primitives

/// A joinable thread that runs one body.
final class LoopThread: Sendable {
    private let handle = Locked<pthread_t?>(nil)

    /// - Parameter detached: nobody joins it.
    func start(detached: Bool = false, _ body: @escaping @Sendable () -> Void) {
        let context = Unmanaged.passRetained(Body(body)).toOpaque()
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        precondition(failure == 0, "no thread to be had")
        if detached {
            pthread_detach(thread)
            return
        }
        handle.withLock { $0 = thread }
    }

    func join() {
        let thread = handle.withLock { handle in
            let thread = handle
            handle = nil
            return thread
        }
        if let thread { pthread_join(thread, nil) }
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
