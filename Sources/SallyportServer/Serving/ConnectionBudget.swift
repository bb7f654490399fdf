/// How the connections of a process are shared out among its event loops. Contract section 12.
///
/// Beside the loops' shares one connection listens for changes of the keys.
struct ConnectionBudget: Equatable {
    let loops: Int
    /// Of each loop, to our database.
    let readers: Int
    let writers: Int
    /// Of each loop, to the identity store; 0: its reads go over the connections of our database.
    let identityReaders: Int

    static let listening = 1
    static let perLoopMin = 2
    static let perLoopDefault = 6

    /// A loop has a reader and a writer first, and then whatever its share allows.
    ///
    /// - Parameters:
    ///   - connections: as set; `nil` is the default, or what the role may have where that is less.
    ///   - workers: loops that are wanted; fewer start where the connections do not suffice.
    ///   - hasIdentityURL: the identity store has a URL of its own, whose connections do not count.
    init(connections: Int?, roleLimit: Int? = nil, workers: Int, hasIdentityURL: Bool) {
        let standard = min(Self.perLoopDefault * workers + Self.listening, roleLimit ?? .max)
        let total = max(connections ?? standard, Self.perLoopMin + Self.listening) - Self.listening
        loops = max(1, min(workers, total / Self.perLoopMin))
        let share = total / loops
        if hasIdentityURL {
            readers = share > Self.perLoopMin ? 2 : 1
            identityReaders = 2
            writers = share - readers
        } else {
            readers = share >= 5 ? 2 : 1
            // Apart, so that a lock on the application's tables does not hold up the reads of ours.
            identityReaders = share >= 8 ? 2 : share > Self.perLoopMin ? 1 : 0
            writers = share - readers - identityReaders
        }
    }
}
