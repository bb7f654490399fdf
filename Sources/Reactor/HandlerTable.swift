/// What an epoll event is delivered to.
protocol EventHandler: AnyObject {
    /// Of the jobs that its events make ready.
    var source: JobSource { get }

    /// Called on the loop. Marks and resumes; does not run application code in place.
    func fire(_ events: UInt32)
}

/// Handlers by the token that epoll carries: slot number below, generation above.
///
/// The generation drops an event that was already fetched for a descriptor which a handler of the same turn closed and
/// whose slot another one has taken since.
struct HandlerTable {
    /// Names the loop's own eventfd; no slot has it.
    static let wakeToken = UInt64.max

    private struct Slot {
        var generation: UInt32 = 0
        var handler: (any EventHandler)?
    }

    private var slots: [Slot] = []
    private var free: [Int] = []

    mutating func add(_ handler: any EventHandler) -> UInt64 {
        let index = free.popLast() ?? slots.count
        if index == slots.count { slots.append(Slot()) }
        slots[index].handler = handler
        return UInt64(slots[index].generation) << 32 | UInt64(index)
    }

    mutating func remove(_ token: UInt64) {
        let index = Int(token & 0xffff_ffff)
        guard handler(for: token) != nil else { return }
        slots[index].handler = nil
        slots[index].generation &+= 1
        free.append(index)
    }

    func handler(for token: UInt64) -> (any EventHandler)? {
        let index = Int(token & 0xffff_ffff)
        guard index < slots.count, slots[index].generation == UInt32(token >> 32) else { return nil }
        return slots[index].handler
    }
}
