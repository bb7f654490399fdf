import AuthDomain
import AuthStore
import AuthTesting
import Postgres
import Primitives
import EmbeddedPostgres
import Testing

// One at a time: each test has connections of its own to the one server.
@Suite("Identity store", .serialized)
struct IdentityStoreTests {
    private static let now = Timestamp(microsecondsSinceEpoch: 1_790_000_000_123_000)

    @Test(
        "the three generators' tables are read alike, whatever type the ids have",
        arguments: IdentityMapping.Preset.allCases, BetterAuthTables.IDType.allCases)
    func presets(preset: IdentityMapping.Preset, ids: BetterAuthTables.IDType) async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database(), preset: preset, ids: ids)
        let user = try tables.user(isBanned: true, banExpires: Self.now + .days(1), name: "Grün")
        let made = try tables.session(of: user, age: .hours(1), impersonatedBy: "admin-1", at: Self.now)
        try await withStore(tables) { store, _ in
            let view = try await store.exchangeView(token: Secret(made.token), tokenHash: [0])
            let expected = IdentitySession(
                id: made.id, userID: user, createdAt: Self.now - .hours(1), expiresAt: Self.now + .days(7),
                impersonatedBy: "admin-1")
            #expect(view.session == expected)
            let found = try #require(try await store.user(user))
            #expect(view.user == found)
            #expect(found.id == user && found.name == "Grün" && found.isVerified)
            #expect(found.ban == IdentityUser.Ban(until: Self.now + .days(1)))
            #expect(found.email?.hasSuffix("@example.test") ?? false)
            #expect(try await store.exchangeView(token: Secret("another"), tokenHash: [0]).session == nil)
        }
    }

    @Test(
        "a time without a zone is one of the configured zone, whatever the database's own zone is",
        arguments: ["UTC", "America/New_York", "Asia/Kolkata"], [IdentityMapping.Preset.drizzle, .prisma, .kysely])
    func naiveTimes(zone: String, preset: IdentityMapping.Preset) async throws {
        let scratch = try ScratchCluster.shared.database()
        try scratch.sql("ALTER DATABASE \"\(scratch.name)\" SET TimeZone TO '\(zone)'")
        let tables = try BetterAuthTables(in: scratch, preset: preset)
        let made = try tables.session(of: tables.user(), at: Self.now)
        try await withStore(tables) { store, _ in
            let session = try #require(
                try await store.exchangeView(token: Secret(made.token), tokenHash: [0]).session)
            #expect(session.createdAt == Self.now && session.expiresAt == Self.now + .days(7))
        }
        // Zones other than UTC move naive times, and times with a zone not at all.
        let kolkata = try IdentityMapping(preset: preset, naiveTimeZone: "Asia/Kolkata")
        try await withStore(tables, mapping: kolkata) { store, _ in
            let session = try #require(
                try await store.exchangeView(token: Secret(made.token), tokenHash: [0]).session)
            let shift: Duration = preset == .kysely ? .zero : .minutes(330)
            #expect(session.createdAt == Self.now - shift)
        }
    }

    @Test(
        "tables without the admin plugin know no bans and no impersonation", arguments: IdentityMapping.Preset.allCases)
    func withoutAdminPlugin(preset: IdentityMapping.Preset) async throws {
        let tables = try BetterAuthTables(
            in: ScratchCluster.shared.database(), preset: preset, hasAdminPlugin: false)
        let made = try tables.session(of: tables.user(isVerified: false), at: Self.now)
        try await withStore(tables) { store, _ in
            let view = try await store.exchangeView(token: Secret(made.token), tokenHash: [0])
            #expect(view.session?.impersonatedBy == nil && view.session?.id == made.id)
            #expect(view.user?.ban == nil && view.user?.isVerified == false)
        }
    }

    @Test("schema, tables and columns may have any name, also one that needs quoting")
    func names() async throws {
        let tables = try BetterAuthTables(
            in: ScratchCluster.shared.database(), schema: "Auth store",
            sessionTable: "login sessions", userTable: "people")
        try tables.database.sql(
            #"""
            ALTER TABLE "Auth store"."login sessions" RENAME COLUMN "userId" TO "owner's ""id""";
            ALTER TABLE "Auth store".people RENAME COLUMN "emailVerified" TO verified;
            """#)
        try tables.database.sql(
            #"""
            INSERT INTO "Auth store".people (id, name, email, verified) VALUES ('u-1', 'Ada', 'ada@example.test', true);
            INSERT INTO "Auth store"."login sessions" (id, token, "expiresAt", "createdAt", "updatedAt", "owner's ""id""")
            VALUES ('s-1', 'token-1', '2030-01-01Z', '2026-01-01Z', '2026-01-01Z', 'u-1');
            """#)
        let mapping = try IdentityMapping(
            preset: .kysely, schema: "Auth store", sessionTable: "login sessions", userTable: "people",
            columns: ["session.userId": "owner's \"id\"", "user.emailVerified": "verified"])
        try await withStore(tables, mapping: mapping) { store, _ in
            let view = try await store.exchangeView(token: Secret("token-1"), tokenHash: [0])
            #expect(view.session?.id == "s-1" && view.session?.userID == "u-1")
            #expect(view.user?.id == "u-1" && view.user?.isVerified == true)
        }
    }

    @Test("a session whose user's row is gone has no user, and a ban without an end has none")
    func goneUser() async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database())
        let user = try tables.user(isBanned: true)
        let made = try tables.session(of: user, at: Self.now)
        let pardoned = try tables.user(isBanned: false, banExpires: Self.now)
        try await withStore(tables) { store, _ in
            #expect(try await store.user(user)?.ban == IdentityUser.Ban(until: nil))
            #expect(try await store.user(pardoned)?.ban == nil)
            try tables.database.sql(
                """
                ALTER TABLE public.session DROP CONSTRAINT "session_userId_fkey";
                DELETE FROM public."user";
                """)
            let view = try await store.exchangeView(token: Secret(made.token), tokenHash: [0])
            #expect(view.session?.id == made.id && view.user == nil)
        }
    }

    @Test("an id that cannot be one of the column's type is nobody, or could not be found out; never another's")
    func foreignID() async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database(), ids: .integer)
        let user = try tables.user()
        try await withStore(tables) { store, _ async throws in
            #expect(try await store.user(user)?.id == user)
            for id in ["999999", "1e3", "not-a-number"] {
                let found = try? await store.user(id)
                #expect((found ?? nil) == nil, "\(id)")
            }
        }
    }

    @Test("a session token that changed in its row keeps what we know of the session")
    func changedToken() async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database())
        let made = try tables.session(of: tables.user(), at: Self.now)
        try await withStore(tables) { store, _ in
            let session = try #require(
                try await store.exchangeView(token: Secret(made.token), tokenHash: [1]).session)
            for hash: [UInt8] in [[1], [2]] {
                _ = try await store.remember(
                    SeenSession(
                        session: session, tokenHash: hash, accessSID: "s_1",
                        seenAt: Self.now + .seconds(Int64(hash[0]))))
            }
            let link = try await store.exchangeView(token: Secret(made.token), tokenHash: [2]).link
            #expect(link?.firstSeenAt == Self.now + .seconds(1))
            #expect(try await store.exchangeView(token: Secret(made.token), tokenHash: [1]).link == nil)
        }
    }
}

@Suite("Identity catalog")
struct IdentityCatalogTests {
    @Test("what is missing or of a wrong type is named")
    func problems() async throws {
        let cases: [(String, IdentityCatalog.Problem)] = [
            ("DROP TABLE public.session", .noSessionTable("session")),
            (
                "DROP TABLE public.session; DROP TABLE public.\"user\"; CREATE TABLE public.session (id text)",
                .noUserTable("user")
            ),
            ("ALTER TABLE public.session DROP COLUMN token", .noColumn(table: "session", column: "token")),
            (
                "ALTER TABLE public.\"user\" DROP COLUMN \"emailVerified\"",
                .noColumn(table: "user", column: "emailVerified")
            ),
            (
                "ALTER TABLE public.session ALTER COLUMN \"expiresAt\" TYPE text",
                .wrongType(table: "session", column: "expiresAt", type: "text")
            ),
            (
                "ALTER TABLE public.\"user\" DROP COLUMN banned, ADD COLUMN banned integer",
                .wrongType(table: "user", column: "banned", type: "integer")
            ),
        ]
        for (change, problem) in cases {
            let tables = try BetterAuthTables(in: ScratchCluster.shared.database())
            try await onLoop(tables.database) { _, identity in
                let mapping = try IdentityMapping(preset: .kysely)
                _ = try await IdentityCatalog.read(mapping, from: identity)
                try tables.database.sql(change)
                await #expect(throws: IdentityCatalog.ReadFailure.problem(problem)) {
                    try await IdentityCatalog.read(mapping, from: identity)
                }
            }
        }
    }

    @Test("columns that a role may not read count as missing")
    func grants() async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database())
        try tables.grantReading(to: "identity_reader")
        let mapping = try IdentityMapping(preset: .kysely)
        try await onLoop(tables.database, identityRole: "identity_reader") { _, identity in
            _ = try await IdentityCatalog.read(mapping, from: identity)
            try tables.database.sql("REVOKE SELECT (token) ON public.session FROM identity_reader")
            await #expect(
                throws: IdentityCatalog.ReadFailure.problem(.noColumn(table: "session", column: "token"))
            ) { try await IdentityCatalog.read(mapping, from: identity) }
        }
    }

    @Test("a column that we do not read cannot be mapped")
    func unknownColumn() {
        for name in ["session.userAgent", "userId", "user.userId", ""] {
            let error = #expect(throws: IdentityMapping.ColumnUnknown.self) {
                try IdentityMapping(preset: .kysely, columns: [name: "x"])
            }
            #expect(error?.name == name)
        }
    }

    @Test("a database that is away is no verdict on the store")
    func unavailable() async throws {
        let cluster = try ScratchCluster.own()
        let scratch = try cluster.database()
        let mapping = try IdentityMapping(preset: .kysely)
        try await onLoop(scratch) { _, identity in
            cluster.stop(.immediate)
            let failure = await #expect(throws: IdentityCatalog.ReadFailure.self) {
                try await IdentityCatalog.read(mapping, from: identity)
            }
            guard case .unavailable = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
        }
    }
}
