import AuthTesting
import Postgres
import Primitives
import Testing

@testable import AuthStore

@Suite("The list of migrations")
struct MigrationListTests {
    @Test("a migration whose text was rewritten is recorded as it was first published, so that older servers know it")
    func rewritten() throws {
        let feed = try #require(Migrations.all.first { $0.name == "0010_create_revocation_feed.sql" })
        let published = "fd5183832bce6231be57ab401b07ee0ac99b7ad65d273bb5fe2ab4aa07f4283f"
        #expect(Hex.encode(feed.checksum) == published)
    }

    @Test("a database in LATIN1 takes all migrations, those of standalone deployments too")
    func latin1() async throws {
        let scratch = try ScratchCluster.shared.database(encoding: "LATIN1")
        #expect(try scratch.sql("SHOW server_encoding") == [["LATIN1"]])
        try await onLoop(scratch) { main, _ in
            for list in [Migrations.all, Migrations.standalone] {
                let names = try await MigrationRunner(migrations: list).apply(on: main, clock: TestClock())
                #expect(names == list.map(\.name))
            }
        }
    }
}
