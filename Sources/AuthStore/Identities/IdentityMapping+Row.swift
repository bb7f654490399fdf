package import Postgres

extension IdentityMapping {
    /// Writes down where the sessions lie, for `sallyport.end_sessions`; where they lie in another database, that they
    /// cannot be read from SQL.
    package func record(in main: Database, ifAlsoOf identity: Database) async throws(DatabaseError) {
        let ours = try await Self.place(main)
        let place: String
        do throws(DatabaseError) {
            place = try await Self.place(identity)
        } catch {
            // What an earlier start has found out stays.
            return
        }
        _ =
            place == ours
            ? try await main.write(
                Self.write,
                [
                    .text(schema), .text(sessionTable), .text(name(of: .sessionID)), .text(name(of: .sessionUserID)),
                ])
            : try await main.write(Self.remove)
    }

    private static func place(_ database: Database) async throws(DatabaseError) -> String {
        guard let row = try await database.read(databasePlace).first else { throw .unavailable(.misconfigured) }
        return try row.text("place")
    }

    private static let databasePlace = Statement(
        "database_place",
        "SELECT (SELECT system_identifier FROM pg_control_system())::text || '/' || current_database() AS place")

    private static let write = Statement(
        "record_identity_mapping",
        """
        INSERT INTO sallyport.identity_mappings AS m (schema_name, session_table, id_column, user_id_column)
        VALUES ($1, $2, $3, $4)
        ON CONFLICT (id) DO UPDATE SET schema_name = $1, session_table = $2, id_column = $3, user_id_column = $4
        WHERE (m.schema_name, m.session_table, m.id_column, m.user_id_column) IS DISTINCT FROM ($1, $2, $3, $4)
        """, [.text, .text, .text, .text])

    private static let remove = Statement("remove_identity_mapping", "DELETE FROM sallyport.identity_mappings")
}
