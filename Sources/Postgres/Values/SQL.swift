/// The text of a statement: a literal in the source, never a pasted string.
///
/// The literal is a `StaticString`, so that interpolation does not compile; values go in as parameters (`$1`).
package struct SQL: Sendable, ExpressibleByStringLiteral {
    let text: String

    package init(stringLiteral literal: StaticString) {
        text = literal.description
    }

    /// For text that is generated from names which an operator has configured; every name in it must have been quoted
    /// as an identifier. Values never belong here.
    package init(unsafeText text: String) {
        self.text = text
    }
}

/// A prepared statement: prepared on a connection when that connection first runs it.
///
/// Two statements of one database never share a name.
package struct Statement: Sendable {
    /// Lower-case words; shows in the log and in `pg_prepared_statements`.
    package let name: String
    package let sql: SQL
    /// The types of `$1`, `$2`, … in order. Explicit, so that Postgres does not guess them from the text.
    package let parameters: [SQLType]

    package init(_ name: String, _ sql: SQL, _ parameters: [SQLType] = []) {
        self.name = name
        self.sql = sql
        self.parameters = parameters
    }
}
