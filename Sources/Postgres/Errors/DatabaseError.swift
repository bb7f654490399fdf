/// What a caller does about a statement that gave no rows. No value and no message of the server is in it.
package enum DatabaseError: Error, Equatable, Sendable {
    /// Could not find out: answer 503, never "no such row".
    case unavailable(Unavailability)
    /// 23505: another row is there already. Read the winner.
    case conflict(constraint: String)
    /// 23503: the row that is referred to is not there.
    case missingReference(constraint: String)
    /// 23514, 23502, 23P01: the row breaks a rule of the schema. The constraint's name, or the column's.
    case checkFailed(constraint: String)
    /// Raised inside a function of the operator. For a caller it is a 503 too; the code helps the operator.
    case functionFailed(sqlState: String)
}

/// Why nothing could be found out.
package enum Unavailability: String, Sendable, CaseIterable {
    /// Refused, unreachable, cut off, or an answer that we do not know.
    case dependency
    /// The database is starting up or shutting down (57P03).
    case starting
    /// Too slow or too much: deadline, lock or statement timeout, no free connection in time.
    case busy
    /// A serialization failure or a deadlock (40001, 40P01): the transaction may be tried again.
    case contention
    /// Out of connections, disk or memory: somebody has to look.
    case exhausted
    /// Wrong role, password, schema or column: nothing gets better by itself.
    case misconfigured
    /// Only hosts that do not take writes were found.
    case readOnly
    /// The connection was lost after a write had been sent: it may have happened. Read again.
    case outcomeUnknown
    /// `close()` has been called.
    case closed
}

extension Unavailability: CustomStringConvertible {
    /// The word, and what an operator may look at.
    package var description: String {
        let advice =
            switch self {
            case .dependency: "no server answers at its address, or the connection was cut"
            case .starting: "it is starting up or shutting down"
            case .busy: "it is too slow, or locked by somebody"
            case .contention: "others wrote at the same moment; try again"
            case .exhausted: "it has no connection, disk or memory left"
            case .misconfigured: "wrong role, password or database, a right that is missing, or a pending migration"
            case .readOnly: "none of its hosts takes writes"
            case .outcomeUnknown: "the connection was lost while it wrote; look whether it has"
            case .closed: "the connections were closed"
            }
        return "\(rawValue) (\(advice))"
    }
}

extension DatabaseError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unavailable(let reason): "database unavailable: \(reason)"
        case .conflict(let constraint): "conflict on \(constraint)"
        case .missingReference(let constraint): "missing reference for \(constraint)"
        case .checkFailed(let constraint): "check failed: \(constraint)"
        case .functionFailed(let sqlState): "database function failed with \(sqlState)"
        }
    }
}
