import CLinux

package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let read = Interest(rawValue: 1)
    package static let write = Interest(rawValue: 2)

    var events: UInt32 {
        (contains(.read) ? CL_IN : 0) | (contains(.write) ? CL_OUT : 0)
    }
}

package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let readable = Readiness(rawValue: 1)
    package static let writable = Readiness(rawValue: 2)
    /// Error or hang-up; reading tells which.
    package static let hangUp = Readiness(rawValue: 4)

    init(events: UInt32) {
        self = []
        if events & CL_IN != 0 { insert(.readable) }
        if events & CL_OUT != 0 { insert(.writable) }
        if events & (CL_ERR | CL_HUP) != 0 { insert(.hangUp) }
    }
}

/// Level-triggered news of a descriptor that somebody else owns, such as libpq's. Bound to its loop.
package final class Watcher: EventHandler {
    let source = JobSource.continuation
    private let loop: EventLoop
    private let descriptor: Int32
    private let onReady: (Readiness) -> Void
    private var token: UInt64?

    init(_ descriptor: Int32, _ interest: Interest, on loop: EventLoop, _ onReady: @escaping (Readiness) -> Void) {
        self.descriptor = descriptor
        self.loop = loop
        self.onReady = onReady
    }

    func add(_ interest: Interest) -> Bool {
        let token = loop.handlers.add(self)
        guard loop.control(1, descriptor, interest.events, token) else {
            loop.handlers.remove(token)
            return false
        }
        self.token = token
        return true
    }

    package func update(_ interest: Interest) {
        loop.assertCurrent()
        guard let token else { return }
        _ = loop.control(3, descriptor, interest.events, token)
    }

    /// Idempotent. Call it before the descriptor is closed.
    package func close() {
        loop.assertCurrent()
        guard let token else { return }
        self.token = nil
        _ = loop.control(2, descriptor, 0, token)
        loop.handlers.remove(token)
    }

    func fire(_ events: UInt32) {
        guard token != nil else { return }
        onReady(Readiness(events: events))
    }
}

extension EventLoop {
    /// Watches a descriptor level-triggered. It is not closed by the watcher.
    package func watch(
        _ descriptor: Int32, _ interest: Interest, onReady: @escaping (Readiness) -> Void
    ) throws(ReactorError) -> Watcher {
        assertCurrent()
        let watcher = Watcher(descriptor, interest, on: self, onReady)
        guard watcher.add(interest) else { throw .failed(call: "epoll_ctl", errno: errnoNow()) }
        return watcher
    }
}
