/// First in, first out: a ring that grows by doubling and never shrinks.
struct Queue<Element> {
    private var slots: [Element?] = []
    private var head = 0
    private var count = 0

    var isEmpty: Bool { count == 0 }

    var first: Element? { isEmpty ? nil : slots[head] }

    mutating func push(_ element: Element) {
        if count == slots.count { grow() }
        slots[(head + count) & (slots.count - 1)] = element
        count += 1
    }

    mutating func pop() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[head]
        slots[head] = nil
        head = (head + 1) & (slots.count - 1)
        count -= 1
        return element
    }

    /// To a power of two, so that an index wraps by a mask.
    private mutating func grow() {
        var grown: [Element?] = []
        grown.reserveCapacity(max(16, slots.count * 2))
        for index in slots.indices { grown.append(slots[(head + index) & (slots.count - 1)]) }
        while grown.count < max(16, slots.count * 2) { grown.append(nil) }
        slots = grown
        head = 0
    }
}
