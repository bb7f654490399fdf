/// The five characters by which Postgres names an error, and what this module does about each.
///
/// Source: PostgreSQL 15, appendix A.
struct SQLState: Hashable, Sendable {
    let code: String

    init(_ code: String) {
        self.code = code
    }

    enum Decision: Equatable, Sendable {
        /// The backend is gone or going. Reads are sent once more on another connection.
        case connectionLost
        /// Rejected because this host does not take writes: close the connection, look for one that does.
        case readOnlyHost
        /// A prepared statement that is no longer good: prepare it anew and run it once more.
        case prepareAgain
        case conflict
        case missingReference
        case checkFailed
        case functionFailed
        case unavailable(Unavailability)
    }

    var decision: Decision {
        Self.codes[code] ?? Self.classes[String(code.prefix(2))] ?? .unavailable(.dependency)
    }

    /// An error of this code as the caller gets it once nothing is left to retry.
    ///
    /// - Parameter subject: the name of the constraint or column, where the server gave one.
    func error(subject: String) -> DatabaseError {
        switch decision {
        case .connectionLost: .unavailable(.dependency)
        case .readOnlyHost: .unavailable(.readOnly)
        case .prepareAgain: .unavailable(.misconfigured)
        case .conflict: .conflict(constraint: subject)
        case .missingReference: .missingReference(constraint: subject)
        case .checkFailed: .checkFailed(constraint: subject)
        case .functionFailed: .functionFailed(sqlState: code)
        case .unavailable(let reason): .unavailable(reason)
        }
    }

    private static let codes: [String: Decision] = [
        "57P01": .connectionLost,  // admin shutdown
        "57P02": .connectionLost,  // crash of another backend
        "57P04": .unavailable(.misconfigured),  // database dropped
        "57P05": .connectionLost,  // idle session timeout
        "25P03": .connectionLost,  // idle in transaction timeout
        "57P03": .unavailable(.starting),
        "25006": .readOnlyHost,
        "40001": .unavailable(.contention),
        "40P01": .unavailable(.contention),
        "40003": .unavailable(.outcomeUnknown),  // statement completion unknown
        "08007": .unavailable(.outcomeUnknown),  // transaction resolution unknown
        "55P03": .unavailable(.busy),  // lock timeout
        "57014": .unavailable(.busy),  // statement timeout, or cancelled by hand
        "23505": .conflict,
        "23503": .missingReference,
        "23514": .checkFailed,
        "23502": .checkFailed,
        "23P01": .checkFailed,
        "0A000": .prepareAgain,  // "cached plan must not change result type"
        "26000": .prepareAgain,  // "prepared statement does not exist"
    ]

    /// By the first two characters, for codes that are not in the table above.
    private static let classes: [String: Decision] = [
        "08": .connectionLost,
        "22": .functionFailed,  // data exception: our own values are typed, so it comes out of a function
        "38": .functionFailed,
        "39": .functionFailed,
        "2F": .functionFailed,
        "P0": .functionFailed,
        "28": .unavailable(.misconfigured),
        "3D": .unavailable(.misconfigured),
        "3F": .unavailable(.misconfigured),
        "42": .unavailable(.misconfigured),
        "53": .unavailable(.exhausted),
    ]
}
