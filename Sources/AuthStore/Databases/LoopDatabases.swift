package import Postgres
import Reactor

/// The databases of the loop that asks: each loop has connections of its own.
package struct LoopDatabases: Sendable {
    package struct Pair: Sendable {
        /// Ours.
        package let main: Database
        /// The identity store's, which is only read.
        package let identity: Database

        package init(main: Database, identity: Database) {
            self.main = main
            self.identity = identity
        }
    }

    private let pairs: [ObjectIdentifier: Pair]
    /// Whether the identity store's URL allows a replica, by name.
    let mayReadReplica: Bool

    package init(_ pairs: [Pair]) {
        mayReadReplica = pairs.contains { $0.identity.mayReadReplica }
        self.pairs = Dictionary(
            pairs.map { (ObjectIdentifier($0.main.loop), $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// - Precondition: called on one of the loops.
    package var current: Pair {
        guard let loop = EventLoop.current, let pair = pairs[ObjectIdentifier(loop)] else {
            preconditionFailure("a store is used on an event loop that has a database")
        }
        return pair
    }
}
