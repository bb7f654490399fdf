import Postgres

/// How many connections the database lets our role have.
enum RoleLimit {
    /// `nil` without a limit, and where it cannot be found out now: the start waits for the database later.
    static func read(_ url: DatabaseURL) -> Int? {
        do throws(CommandFailure) {
            return try CommandDatabase(url: url, isReadOnly: true).use { database async throws(DatabaseError) in
                try await database.connectionLimit()
            }
        } catch {
            return nil
        }
    }
}
