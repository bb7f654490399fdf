import Postgres
import Testing

@Suite("Database configuration")
struct DatabaseConfigurationTests {
    @Test("a lock gives up first, then the statement, then the connection, and all before the 3 s of an answer")
    func order() {
        let configuration = DatabaseConfiguration(applicationName: "test")
        #expect(configuration.lockTimeout < configuration.statementTimeout)
        #expect(configuration.statementTimeout + .milliseconds(200) <= configuration.queryDeadline)
        #expect(configuration.queryDeadline + .milliseconds(200) <= .seconds(3))
    }
}
