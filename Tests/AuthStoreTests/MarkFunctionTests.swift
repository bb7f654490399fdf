import AuthDomain
import AuthTesting
import Crypto
import Postgres
import Primitives
import Telemetry
import Testing

@testable import AuthStore

@Suite("Marks set from SQL", .serialized)
struct MarkFunctionTests {
    private func marked(_ user: String, _ tables: BetterAuthTables) throws -> Set<String> {
        Set(
            try tables.database.sql(
                "SELECT unnest(session_ids) FROM sallyport.user_marks WHERE user_id = '\(user)'"
            ).map { $0[0] })
    }

    private func end(_ user: String, _ tables: BetterAuthTables, at offset: String = "0 s") throws {
        try tables.database.sql(
            """
            UPDATE sallyport.clocks SET virtual_offset_us = EXTRACT(EPOCH FROM interval '\(offset)') * 1000000;
            SELECT sallyport.end_sessions('\(user)', 'session_revoked', statement_timestamp() + interval '\(offset)');
            """)
    }

    private func remember(_ session: BetterAuthTables.Session, _ store: PostgresStore) async throws {
        let now = BetterAuthTables.now
        let seen = SeenSession(
            session: IdentitySession(
                id: session.id, userID: session.userID, createdAt: now, expiresAt: now + .days(7), impersonatedBy: nil),
            tokenHash: Array(session.token.utf8), accessSID: "s_" + session.id, seenAt: now)
        #expect(try await store.remember(seen) == .registered)
    }

    @Test(
        "the ids are those that can be read, where the identity store is this database",
        arguments: IdentityMapping.Preset.allCases, BetterAuthTables.IDType.allCases)
    func readable(preset: IdentityMapping.Preset, ids: BetterAuthTables.IDType) async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database(), preset: preset, ids: ids)
        try await withStore(tables) { store, pair in
            let mapping = try IdentityMapping(preset: preset)
            for _ in 0..<2 { try await mapping.record(in: pair.main, ifAlsoOf: pair.identity) }
            let user = try tables.user()
            let sessions = try (0..<3).map { _ in try tables.session(of: user) }
            let other = try tables.signIn()
            try end(user, tables)
            #expect(try marked(user, tables) == Set(sessions.map(\.id)))
            let view = try await store.mintView(
                session: IdentitySession(
                    id: sessions[0].id, userID: user, createdAt: BetterAuthTables.now + .hours(2),
                    expiresAt: BetterAuthTables.now + .days(1), impersonatedBy: nil),
                installationID: nil, deviceID: nil, candidateID: UUID(random: SystemRandom()))
            #expect(view.isMarked)
            #expect(try marked(other.userID, tables).isEmpty)
        }
    }

    @Test(
        "where they cannot be read the ids are those of linked sessions, and nothing fails",
        arguments: [
            "DELETE FROM sallyport.identity_mappings", "ALTER TABLE public.session ENABLE ROW LEVEL SECURITY",
            "ALTER TABLE public.session RENAME TO kept; CREATE VIEW public.session AS TABLE public.kept",
            "DROP TABLE public.session", "ALTER TABLE public.session RENAME COLUMN \"userId\" TO owner",
            "ALTER TABLE public.session RENAME COLUMN id TO key",
        ])
    func unreadable(change: String) async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database())
        try await withStore(tables) { store, pair in
            try await IdentityMapping(preset: .kysely).record(in: pair.main, ifAlsoOf: pair.identity)
            let user = try tables.user()
            let linked = try tables.session(of: user)
            _ = try tables.session(of: user)
            try await remember(linked, store)
            try tables.database.sql(change)
            try end(user, tables)
            #expect(try marked(user, tables) == [linked.id])
        }
    }

    @Test("an identity store in another database is not looked for in this one")
    func elsewhere() async throws {
        let ours = try BetterAuthTables(in: ScratchCluster.shared.database())
        let theirs = try ScratchCluster.shared.database()
        try await withStore(ours) { _, pair in
            func recorded() throws -> [[String]] {
                try ours.database.sql("SELECT session_table FROM sallyport.identity_mappings")
            }
            let mapping = try IdentityMapping(preset: .kysely)
            try await mapping.record(in: pair.main, ifAlsoOf: pair.identity)
            #expect(try recorded() == [["session"]])
            let elsewhere = try Database(
                url: DatabaseURL(Secret(theirs.url)), loop: pair.main.loop,
                configuration: DatabaseConfiguration(applicationName: "sallyport-tests"), logger: .disabled)
            try await mapping.record(in: pair.main, ifAlsoOf: elsewhere)
            await elsewhere.close()
            #expect(try recorded().isEmpty)
        }
    }

    @Test("ids of a mark of the last hour stay with the next one, older ones go")
    func twice() async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database())
        try await withStore(tables) { _, pair in
            try await IdentityMapping(preset: .kysely).record(in: pair.main, ifAlsoOf: pair.identity)
            let user = try tables.user()
            let first = try tables.session(of: user)
            try end(user, tables)
            try tables.removeSession(first)
            let second = try tables.session(of: user)
            try end(user, tables, at: "59 min")
            #expect(try marked(user, tables) == [first.id, second.id])
            try end(user, tables, at: "59 min")
            #expect(try tables.database.sql("SELECT cardinality(session_ids) FROM sallyport.user_marks") == [["2"]])
            try tables.removeSession(second)
            try end(user, tables, at: "120 min")
            #expect(try marked(user, tables).isEmpty)
        }
    }
}
