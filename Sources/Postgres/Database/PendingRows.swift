import Telemetry

/// The answer to a read that has been sent already.
///
/// Code that needs several rows begins all reads and then awaits them: one round trip. Bound to the database's loop;
/// awaited by one task at a time, or never.
package struct PendingRows {
    let call: Call
    let logger: Logger

    /// - Throws: see `Database.read`.
    package func rows() async throws(DatabaseError) -> Rows {
        Rows(result: try await call.wait().get(), statement: call.name, logger: logger)
    }
}
