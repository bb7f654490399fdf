/// Why a database cannot be used, for the person who runs the server: one sentence with advice.
///
/// The text is libpq's or the server's own without anything secret. No client ever sees it.
package struct DatabaseFault: Error, Equatable, Sendable, CustomStringConvertible {
    package let reason: Unavailability
    package let description: String

    init(_ reason: Unavailability, _ sentence: String, advice: String? = nil) {
        self.reason = reason
        description = advice.map { "\(sentence): \($0)" } ?? sentence
    }

    /// Of a statement that was refused.
    init(_ reason: Unavailability, _ refusal: StatementRefusal) {
        self.init(
            reason, "\(refusal.message) (\(refusal.state.code))",
            advice: ConnectionAdvice.advice(refusal.state, refusal.message))
    }
}

/// What the server said of the last statement that it refused.
struct StatementRefusal {
    let state: SQLState
    /// Of the classes that are reported, it names tables, columns, roles and functions, and no value.
    let message: String
}
