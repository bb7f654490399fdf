package import Postgres

/// What may hide rows of an identity table from our role: row-level security, or a view. By the system's catalog.
package struct IdentityVisibility: Equatable, Sendable {
    package let table: String
    /// The mapped name is a view.
    package let isView: Bool
    /// Row-level security is in force for our role, on the table or on one that the view is made of.
    package let isFiltered: Bool
    /// Whether the tables behind it have rows, as the last ANALYZE or their size says.
    let hasStoredRows: Bool

    /// Whether no visible row is no evidence of no row.
    var mayHide: Bool { (isView || isFiltered) && hasStoredRows }

    /// For an operator; `nil` where nothing hides rows.
    package var warning: String? {
        guard isFiltered else {
            return isView ? "\(table) is a view: rows that it leaves out count as missing" : nil
        }
        return "row-level security applies to \(table): what its policies hide from this role counts as missing. Give "
            + "the role BYPASSRLS, or a policy that shows it every row"
    }

    /// Of both tables, the session table first.
    package static func read(
        _ mapping: IdentityMapping, from database: Database
    ) async throws(DatabaseError) -> [IdentityVisibility] {
        let names = [mapping.sessionTable, mapping.userTable].map { IdentityStatements.regclass($0, in: mapping) }
        return try await read(statement(of: names), from: database)
    }

    static func read(
        _ statement: Statement, from database: Database
    ) async throws(DatabaseError) -> [IdentityVisibility] {
        var found: [IdentityVisibility] = []
        for row in try await database.read(statement) {
            found.append(
                IdentityVisibility(
                    table: try row.text("table_name"), isView: try row.bool("is_view"),
                    isFiltered: try row.bool("is_filtered"), hasStoredRows: try row.bool("has_stored_rows")))
        }
        return found
    }

    /// Views are followed to their tables, and partitioned tables to their partitions. A table that was never analysed
    /// has rows if it has pages.
    ///
    /// - Parameter names: of the tables, as literals that `to_regclass` takes.
    static func statement(of names: [String]) -> Statement {
        let text = """
            WITH RECURSIVE mapped AS (
                SELECT c.oid, c.relname, c.relkind, n.place FROM (VALUES \(
                    names.enumerated().map { "(\($0.offset), to_regclass(\($0.element)))" }.joined(separator: ", ")
                )) AS n (place, oid) JOIN pg_class c ON c.oid = n.oid
            ), behind AS (
                SELECT m.oid AS root, m.oid FROM mapped m
                UNION
                SELECT b.root, next.oid FROM behind b, LATERAL (
                    SELECT d.refobjid AS oid FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass
                        AND d.objid = r.oid AND d.refclassid = 'pg_class'::regclass
                    WHERE r.ev_class = b.oid AND d.refobjid <> b.oid
                    UNION ALL
                    SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = b.oid
                ) next
            )
            SELECT m.relname::text AS table_name, m.relkind IN ('v', 'm') AS is_view,
                bool_or(c.relrowsecurity AND row_security_active(c.oid)) AS is_filtered,
                bool_or(c.relkind = 'r' AND (c.reltuples > 0 OR c.reltuples < 0 AND pg_relation_size(c.oid) > 0))
                    AS has_stored_rows
            FROM mapped m JOIN behind b ON b.root = m.oid JOIN pg_class c ON c.oid = b.oid
            GROUP BY m.place, m.relname, m.relkind ORDER BY m.place
            """
        return Statement("identity_visibility", SQL(unsafeText: text))
    }
}
