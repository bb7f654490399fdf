package import Primitives

/// The address of a database: libpq's URI, and how to read it again where it came from a file.
///
/// The whole of it is secret: it holds the password.
package struct DatabaseURL: Sendable {
    package let text: Secret<String>
    /// `nil` where the file cannot be read at this moment. It may block.
    let reread: (@Sendable () -> Secret<String>?)?

    /// - Parameter rereading: asked before each new connection, so that a rotated password needs no restart.
    package init(_ text: Secret<String>, rereading reread: (@Sendable () -> Secret<String>?)? = nil) {
        self.text = text
        self.reread = reread
    }

    /// What is wrong with it, before anything is connected to.
    package var fault: DatabaseFault? {
        do throws(DatabaseFault) {
            _ = try ConnectionTarget(text)
            return nil
        } catch {
            return error
        }
    }
}
