import AuthDomain

/// Which requests may hold a write connection, and who is next. Pure.
///
/// Each event loop has a lane, with as many places as it has write connections. The bounds of users and devices are those
/// of all lanes together. In a lane users take turns, however many requests each of them has; a user's own go in order, but
/// for those whose device holds its share.
struct TurnQueue<Waiter> {
    enum Entry: Equatable {
        case granted
        /// With the number by which the request leaves the queue.
        case waiting(Int)
        /// Too many of the user's requests wait already.
        case crowded
    }

    private struct Request {
        let number: Int
        let owner: WriteOwner
        let waiter: Waiter
    }

    private struct Lane {
        var free: Int
        /// Users with waiting requests; the first one is next.
        var order: [String] = []
        var waiting: [String: [Request]] = [:]
    }

    private var lanes: [Lane]
    private var heldByUser: [String: Int] = [:]
    private var heldByDevice: [WriteOwner: Int] = [:]
    private var waitingOfUser: [String: Int] = [:]
    private var lastNumber = 0

    /// - Parameter places: of each lane.
    init(lanes: Int, places: Int) {
        self.lanes = Array(repeating: Lane(free: places), count: lanes)
    }

    mutating func enter(_ owner: WriteOwner, lane: Int, _ waiter: Waiter) -> Entry {
        // A request that waits beside a free place is held up by a bound of its own user.
        if lanes[lane].free > 0, mayHold(owner) {
            hold(owner, lane: lane)
            return .granted
        }
        guard waitingOfUser[owner.userID, default: 0] < Limits.writesWaitingOfUserMax else { return .crowded }
        lastNumber += 1
        waitingOfUser[owner.userID, default: 0] += 1
        if lanes[lane].waiting[owner.userID] == nil { lanes[lane].order.append(owner.userID) }
        lanes[lane].waiting[owner.userID, default: []].append(
            Request(number: lastNumber, owner: owner, waiter: waiter))
        return .waiting(lastNumber)
    }

    /// Gives a place back.
    ///
    /// - Returns: those whose turn it is now, in any lane: the user's share may be what they waited for.
    mutating func leave(_ owner: WriteOwner, lane: Int) -> [Waiter] {
        lanes[lane].free += 1
        Self.decrease(&heldByUser, owner.userID)
        if owner.device != nil { Self.decrease(&heldByDevice, owner) }
        var granted: [Waiter] = []
        for lane in lanes.indices {
            while let waiter = grantNext(in: lane) { granted.append(waiter) }
        }
        return granted
    }

    /// Takes a request out that has waited long enough; `nil` where it has its turn already.
    mutating func giveUp(_ number: Int, of owner: WriteOwner, lane: Int) -> Waiter? {
        guard let index = lanes[lane].waiting[owner.userID]?.firstIndex(where: { $0.number == number }) else {
            return nil
        }
        return remove(at: index, of: owner.userID, lane: lane)?.waiter
    }

    var isEmpty: Bool { heldByUser.isEmpty && heldByDevice.isEmpty && waitingOfUser.isEmpty }

    private mutating func grantNext(in lane: Int) -> Waiter? {
        guard lanes[lane].free > 0 else { return nil }
        for userID in lanes[lane].order {
            guard let index = lanes[lane].waiting[userID]?.firstIndex(where: { mayHold($0.owner) }),
                let request = remove(at: index, of: userID, lane: lane)
            else { continue }
            if lanes[lane].waiting[userID] != nil {
                lanes[lane].order.removeAll { $0 == userID }
                lanes[lane].order.append(userID)
            }
            hold(request.owner, lane: lane)
            return request.waiter
        }
        return nil
    }

    private mutating func remove(at index: Int, of userID: String, lane: Int) -> Request? {
        let request = lanes[lane].waiting[userID]?.remove(at: index)
        if lanes[lane].waiting[userID]?.isEmpty ?? true {
            lanes[lane].waiting[userID] = nil
            lanes[lane].order.removeAll { $0 == userID }
        }
        Self.decrease(&waitingOfUser, userID)
        return request
    }

    private func mayHold(_ owner: WriteOwner) -> Bool {
        heldByUser[owner.userID, default: 0] < Limits.writesOfUserMax
            && (owner.device == nil || heldByDevice[owner, default: 0] < Limits.writesOfDeviceMax)
    }

    private mutating func hold(_ owner: WriteOwner, lane: Int) {
        lanes[lane].free -= 1
        heldByUser[owner.userID, default: 0] += 1
        if owner.device != nil { heldByDevice[owner, default: 0] += 1 }
    }

    private static func decrease<Key: Hashable>(_ counts: inout [Key: Int], _ key: Key) {
        let count = counts[key, default: 1] - 1
        counts[key] = count > 0 ? count : nil
    }
}
