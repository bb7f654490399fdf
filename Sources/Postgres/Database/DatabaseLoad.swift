/// The connections of one loop to one database, for whoever watches.
package struct DatabaseLoad: Equatable, Sendable {
    /// For reads, shared by all of them.
    package let readers: Int
    /// For writes and transactions, lent to one at a time; `idle` ones among them.
    package let exclusive: Int
    package let idle: Int
    /// Calls that have no connection yet.
    package let waiting: Int

    package init(readers: Int, exclusive: Int, idle: Int, waiting: Int) {
        self.readers = readers
        self.exclusive = exclusive
        self.idle = idle
        self.waiting = waiting
    }
}
