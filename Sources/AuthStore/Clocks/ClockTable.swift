package import Postgres
package import Primitives

/// The one row of `clocks`, and the database's own clock beside it.
package struct ClockRow: Equatable, Sendable {
    /// The database's clock at the moment of the read.
    package let time: Timestamp
    /// The latest time that a server has used.
    package let highest: Timestamp?
    /// By how much the clock of a test target is moved.
    package let virtualOffset: Duration
    package let confirmations: Int64

    package static func read(from database: Database) async throws(DatabaseError) -> ClockRow {
        guard let row = try await database.read(ClockTable.current).first else { throw .unavailable(.misconfigured) }
        return ClockRow(
            time: try row.timestamp("time"), highest: try row.optionalTimestamp("highest_at"),
            virtualOffset: .microseconds(try row.int64("virtual_offset_us")),
            confirmations: try row.int64("confirmations"))
    }
}

/// What is written to `clocks`.
package enum ClockTable {
    static let listen: StaticString = "LISTEN sallyport_clock"

    /// Notes a time that a server uses, unless an operator has confirmed a clock that this server does not know of yet.
    ///
    /// - Parameter isSettled: whether a doubt was settled, perhaps by an earlier time.
    package static func note(
        _ time: Timestamp, confirmations: Int64, isSettled: Bool, in database: Database
    ) async throws(DatabaseError) {
        _ = try await database.write(
            isSettled ? settle : raise, [.timestamp(time), .int64(confirmations)])
    }

    /// Tells every server to look at the clock now.
    package static func announce(in database: Database) async throws(DatabaseError) {
        _ = try await database.write(notify)
    }

    /// The database's clock is right: whatever a server thinks of it. Returns what it says.
    package static func confirm(in database: Database) async throws(DatabaseError) -> Timestamp {
        guard let row = try await database.write(confirmation).first else { throw .unavailable(.misconfigured) }
        return try row.timestamp("time")
    }

    /// Moves the clock of a test target: all servers and commands of the database follow. Returns the new offset.
    package static func setVirtualOffset(
        _ offset: Duration, in database: Database
    ) async throws(DatabaseError) -> Duration {
        try await moved(set, by: offset, in: database)
    }

    /// As above, from where it stands.
    package static func advance(by duration: Duration, in database: Database) async throws(DatabaseError) -> Duration {
        try await moved(advance, by: duration, in: database)
    }

    private static func moved(
        _ statement: Statement, by duration: Duration, in database: Database
    ) async throws(DatabaseError) -> Duration {
        let rows = try await database.write(statement, [.int64(duration.wholeMicroseconds)])
        guard let row = rows.first else { throw .unavailable(.misconfigured) }
        return .microseconds(try row.int64("virtual_offset_us"))
    }

    static let current = Statement(
        "clock",
        "SELECT clock_timestamp() AS time, highest_at, virtual_offset_us, confirmations FROM sallyport.clocks")

    private static let raise = Statement(
        "raise_clock",
        "UPDATE sallyport.clocks SET highest_at = greatest(highest_at, $1) WHERE confirmations = $2",
        [.timestamp, .int64])

    private static let settle = Statement(
        "settle_clock", "UPDATE sallyport.clocks SET highest_at = $1 WHERE confirmations = $2", [.timestamp, .int64])

    private static let notify = Statement("notify_clock", "SELECT pg_notify('sallyport_clock', '')")

    private static let confirmation = Statement(
        "confirm_clock",
        """
        WITH confirmed AS (
            UPDATE sallyport.clocks SET confirmations = confirmations + 1, highest_at = clock_timestamp()
            RETURNING highest_at
        )
        SELECT c.highest_at AS time FROM confirmed c, pg_notify('sallyport_clock', '')
        """)

    private static let set = Statement(
        "set_virtual_clock",
        """
        WITH moved AS (UPDATE sallyport.clocks SET virtual_offset_us = $1 RETURNING virtual_offset_us)
        SELECT m.virtual_offset_us FROM moved m, pg_notify('sallyport_clock', '')
        """, [.int64])

    private static let advance = Statement(
        "advance_virtual_clock",
        """
        WITH moved AS (
            UPDATE sallyport.clocks SET virtual_offset_us = virtual_offset_us + $1 RETURNING virtual_offset_us
        )
        SELECT m.virtual_offset_us FROM moved m, pg_notify('sallyport_clock', '')
        """, [.int64])
}

extension Database {
    /// Calls on the loop whenever the keys or the clock may have changed elsewhere.
    package func listenForNews(onNews: @escaping () -> Void) {
        listen([KeyTable.listen, ClockTable.listen], onNews: onNews)
    }
}
