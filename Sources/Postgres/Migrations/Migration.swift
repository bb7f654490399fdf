import Crypto
package import Primitives

/// One step of the schema, forward only. Once applied anywhere, its text does the same for ever.
package struct Migration: Sendable {
    /// `0001_create_schema.sql`: the file's name; names sort in the order of application.
    package let name: String
    /// Statements for the simple query protocol, run in one transaction; no transaction control of its own.
    package let sql: String
    /// What is recorded when it is applied: SHA-256 of the text as it was first published. Older binaries know no other.
    package let checksum: [UInt8]
    private let textChecksum: [UInt8]

    /// - Parameter firstPublishedAs: SHA-256 in hex of the first text, of a migration whose comments have changed since.
    package init(name: String, sql: [UInt8], firstPublishedAs first: String? = nil) {
        self.name = name
        self.sql = String(decoding: sql, as: UTF8.self)
        textChecksum = SHA256.hash(sql)
        checksum = first.flatMap { Hex.decode($0) } ?? textChecksum
    }

    /// Whether a database with this checksum has had the migration as this binary means it.
    func isApplied(as recorded: [UInt8]) -> Bool { recorded == checksum || recorded == textChecksum }
}

/// What the database and this binary know of one migration.
package enum MigrationState: Equatable, Sendable {
    case applied(at: Timestamp)
    case pending
    /// Applied, but with another text than this binary has.
    case changed
    /// Applied by a newer binary.
    case unknown
}

package struct MigrationStatus: Equatable, Sendable {
    package let name: String
    package let state: MigrationState

    package init(name: String, state: MigrationState) {
        self.name = name
        self.state = state
    }
}

package enum MigrationError: Error, Equatable, Sendable {
    /// The text of an applied migration is not the one that was applied.
    case changed(name: String)
    /// The database is ahead of this binary, which must not add to it.
    case databaseIsNewer(unknown: [String])
    /// A migration is pending that comes before one which is applied.
    case outOfOrder(name: String)
    /// For `verify`: `migrate` has to run first.
    case pending(names: [String])
    /// The script was refused and has been rolled back; those before it are applied.
    case failed(name: String, sqlState: String)
    case unavailable(DatabaseError)
}

extension MigrationError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .changed(let name): "the text of \(name) has changed since it was applied"
        case .databaseIsNewer(let names):
            "the database has migrations that this binary does not know: \(names.joined(separator: ", "))"
        case .outOfOrder(let name): "\(name) is pending although a later migration is applied"
        case .pending(let names): "migrations are pending: \(names.joined(separator: ", "))"
        case .failed(let name, let sqlState): "\(name) failed with SQLSTATE \(sqlState)"
        case .unavailable(let error): error.description
        }
    }
}
