package import Postgres

extension IdentityMapping {
    /// Whether the database knows the zone by name. PostgreSQL takes almost any word with a number for a zone of its own
    /// making; an offset of our settings has the form `<+09:00>-09:00`.
    package func isTimeZoneKnown(to database: Database) async throws(DatabaseError) -> Bool {
        if naiveTimeZone == "UTC" || naiveTimeZone.hasPrefix("<") { return true }
        return try await database.read(Self.timeZone, [.text(naiveTimeZone)]).first?.bool("is_known") ?? false
    }

    private static let timeZone = Statement(
        "identity_time_zone",
        "SELECT EXISTS (SELECT 1 FROM pg_timezone_names WHERE lower(name) = lower($1)) AS is_known", [.text])
}
