import CLibPQ

/// Owns one `PGresult`.
///
/// SAFETY: libpq has finished with a result once it has been handed out; it is only read from then on, which libpq
/// allows from any thread, and it is freed with its last reference.
final class ResultHandle: @unchecked Sendable {
    let pointer: OpaquePointer

    init(_ pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        PQclear(pointer)
    }

    var status: ExecStatusType { PQresultStatus(pointer) }

    var sqlState: SQLState { SQLState(field(sallyport_diag_sqlstate)) }

    /// The server's primary message, without details and hints.
    var message: String { field(sallyport_diag_message_primary) }

    /// The name of the constraint or column that an error is about; empty when there is none.
    var subject: String {
        let constraint = field(sallyport_diag_constraint_name)
        return constraint.isEmpty ? field(sallyport_diag_column_name) : constraint
    }

    /// `ROLLBACK` as the answer to COMMIT says that the transaction had failed before.
    var commandTag: String { PQcmdStatus(pointer).map { String(cString: $0) } ?? "" }

    private func field(_ code: Int32) -> String {
        PQresultErrorField(pointer, code).map { String(cString: $0) } ?? ""
    }
}
