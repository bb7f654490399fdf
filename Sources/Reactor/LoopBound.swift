/// A value that belongs to one loop and may travel through code that is not bound to it.
///
/// Reading it off the loop is our own mistake and ends the process: a thread-local compare is all it costs.
package struct LoopBound<Value>: @unchecked Sendable {
    // SAFETY: the value is reached through `value` alone, which checks the thread.
    private let stored: Value
    package let loop: EventLoop

    package init(_ value: Value, on loop: EventLoop) {
        stored = value
        self.loop = loop
    }

    package var value: Value {
        loop.assertCurrent()
        return stored
    }
}
