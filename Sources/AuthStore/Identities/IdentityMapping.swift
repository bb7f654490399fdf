import Primitives

/// Where a Better Auth application keeps users and sessions: schema, tables, columns, and how times are stored.
package struct IdentityMapping: Equatable, Sendable {
    /// The layout that a generator makes.
    package enum Preset: String, Sendable, CaseIterable {
        /// Quoted camelCase, `timestamptz`.
        case kysely
        /// snake_case, `timestamp`.
        case drizzle
        /// Quoted camelCase, `timestamp(3)`.
        case prisma

        var usesSnakeCase: Bool { self == .drizzle }
    }

    /// What we read, by the name that Better Auth gives it.
    enum Column: String, CaseIterable {
        case sessionID = "session.id"
        case sessionToken = "session.token"
        case sessionUserID = "session.userId"
        case sessionExpiresAt = "session.expiresAt"
        case sessionCreatedAt = "session.createdAt"
        /// May be named like the others; nothing is decided by it.
        case sessionUpdatedAt = "session.updatedAt"
        case impersonatedBy = "session.impersonatedBy"
        case userID = "user.id"
        case userName = "user.name"
        case userEmail = "user.email"
        case emailVerified = "user.emailVerified"
        case banned = "user.banned"
        case banExpires = "user.banExpires"

        /// Of Better Auth's admin plugin, which not every application has.
        var isOptional: Bool {
            switch self {
            case .sessionUpdatedAt, .impersonatedBy, .banned, .banExpires, .userName, .userEmail: true
            default: false
            }
        }

        var isOfSession: Bool { rawValue.hasPrefix("session.") }
        var name: String { String(rawValue.drop { $0 != "." }.dropFirst()) }
    }

    package let schema: String
    package let sessionTable: String
    package let userTable: String
    /// Of times without a zone; an IANA name or `UTC`.
    package let naiveTimeZone: String
    private let columns: [Column: String]

    /// - Parameter columns: `session.userId` → the column's name; the others are the preset's.
    /// - Throws: `ColumnUnknown` for a name that we do not read.
    package init(
        preset: Preset, schema: String = "public", sessionTable: String = "session", userTable: String = "user",
        columns: [String: String] = [:], naiveTimeZone: String = "UTC"
    ) throws(ColumnUnknown) {
        self.schema = schema
        self.sessionTable = sessionTable
        self.userTable = userTable
        self.naiveTimeZone = naiveTimeZone
        var names = Dictionary(
            uniqueKeysWithValues: Column.allCases.map { column in
                (column, preset.usesSnakeCase ? Self.snakeCase(column.name) : column.name)
            })
        for (key, name) in columns {
            guard let column = Column(rawValue: key) else { throw ColumnUnknown(name: key) }
            names[column] = name
        }
        self.columns = names
    }

    package struct ColumnUnknown: Error, Equatable, Sendable {
        package let name: String
    }

    func name(of column: Column) -> String { columns[column] ?? column.name }

    private static func snakeCase(_ name: String) -> String {
        name.reduce(into: "") { text, character in
            text += character.isUppercase ? "_" + character.lowercased() : String(character)
        }
    }
}
