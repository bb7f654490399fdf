import Foundation
import AuthStore
import Primitives

/// One deployment: a database with Better Auth's tables, the settings, its commands and servers.
package final class Site: Sendable {
    package static let issuer = "https://auth.example.test"

    package let database: ScratchDatabase
    package let tables: BetterAuthTables
    /// A key-encryption key of its own, as base64.
    package let kek: String
    package let settings: [String: String]
    private let program: String?

    /// - Parameters:
    ///   - isMigrated: whether `sallyport migrate` has run.
    ///   - program: the path of another `sallyport` than this build's.
    package init(
        in cluster: ScratchCluster? = nil, isMigrated: Bool = true, settings: [String: String] = [:],
        program: String? = nil,
        makeTables: (ScratchDatabase) throws -> BetterAuthTables = { try BetterAuthTables(in: $0) }
    ) throws {
        self.program = program
        database = try (cluster ?? ScratchCluster.shared).database()
        tables = try makeTables(database)
        kek = Base64.encode((0..<32).map { _ in UInt8.random(in: 0 ... .max) })
        let own = [
            "SALLYPORT_DATABASE_URL": database.url, "SALLYPORT_ISSUER": Self.issuer, "SALLYPORT_KEK": kek,
            "SALLYPORT_LISTEN": "127.0.0.1:0", "SALLYPORT_IDENTITY_SECRETS": tables.secret,
            "SALLYPORT_IDENTITY_PRESET": tables.preset.rawValue, "SALLYPORT_LOG_LEVEL": "debug",
        ]
        self.settings = own.merging(settings) { _, given in given }
        if isMigrated { try migrate() }
    }

    package func migrate(_ arguments: String...) throws {
        let command = try run(["migrate"] + arguments)
        guard command.status == 0 else { throw SallyportProcess.Problem.notStarted(command.errorText) }
    }

    /// A command, run to its end.
    package func run(_ arguments: [String], settings: [String: String?] = [:]) throws -> SallyportProcess {
        let process = try SallyportProcess(arguments, environment: environment(settings), program: program)
        try process.wait()
        return process
    }

    /// A command that is not waited for.
    package func begin(_ arguments: [String], settings: [String: String?] = [:]) throws -> SallyportProcess {
        try SallyportProcess(arguments, environment: environment(settings), program: program)
    }

    /// A server that may be about to fail: not waited for.
    package func start(
        _ arguments: [String] = [], settings: [String: String?] = [:]
    ) throws -> ServerUnderTest {
        try ServerUnderTest(arguments, environment: environment(settings), database: database, program: program)
    }

    /// A server that is ready.
    package func serve(_ arguments: [String] = [], settings: [String: String?] = [:]) throws -> ServerUnderTest {
        try start(arguments, settings: settings).waitUntilReady()
    }

    /// `nil` takes a setting out.
    private func environment(_ changes: [String: String?]) -> [String: String] {
        var all = settings
        for (name, value) in changes { all[name] = value }
        return all
    }
}
