import AuthStore
import AuthTesting
import Testing

@Suite("Identity inspection", .serialized)
struct IdentityInspectionTests {
    private func inspect(
        _ tables: BetterAuthTables, preferring preferred: IdentityMapping.Preset? = nil
    ) async throws -> IdentityInspection {
        let mappings = try Dictionary(
            uniqueKeysWithValues: IdentityMapping.Preset.allCases.map { ($0, try IdentityMapping(preset: $0)) })
        let fallback = try IdentityMapping(preset: .kysely)
        let found = Found()
        try await onLoop(tables.database) { _, identity in
            found.value = try await IdentityInspection.read(from: identity, preferring: preferred) {
                mappings[$0] ?? fallback
            }
        }
        return try #require(found.value)
    }

    // SAFETY: written on the loop before `onLoop` returns, read after it.
    private final class Found: @unchecked Sendable {
        var value: IdentityInspection?
    }

    @Test(
        "the preset is found, whether or not one is named and whatever the ids are",
        arguments: IdentityMapping.Preset.allCases, [IdentityMapping.Preset?.none, .kysely])
    func presets(preset: IdentityMapping.Preset, preferred: IdentityMapping.Preset?) async throws {
        for hasAdminPlugin in [true, false] {
            let tables = try BetterAuthTables(
                in: ScratchCluster.shared.database(), preset: preset, hasAdminPlugin: hasAdminPlugin)
            let found = try await inspect(tables, preferring: preferred)
            #expect(found.result == .found(preset))
            #expect(found.columns.contains("user.id = id (text)"))
            #expect(found.columns.contains { $0.contains("missing, not needed") } == !hasAdminPlugin)
        }
    }

    @Test("everything that is missing or of a wrong type is named, against the preset that comes closest")
    func problems() async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database(), preset: .drizzle)
        try tables.database.sql(
            "ALTER TABLE session RENAME COLUMN expires_at TO good_until; ALTER TABLE session ALTER created_at TYPE text"
        )
        let problems: [IdentityCatalog.Problem] = [
            .noColumn(table: "session", column: "expires_at"),
            .wrongType(table: "session", column: "created_at", type: "text"),
        ]
        for preferred in [nil, IdentityMapping.Preset.drizzle] {
            #expect(try await inspect(tables, preferring: preferred).result == .problems(.drizzle, problems))
        }
        // Where the operator named another one, its columns are what is missing.
        guard case .problems(.kysely, let others) = try await inspect(tables, preferring: .kysely).result else {
            Issue.record("not told against the named preset")
            return
        }
        #expect(others.contains(.noColumn(table: "session", column: "userId")))
    }

    @Test("without tables both are named")
    func nothing() async throws {
        let tables = try BetterAuthTables(in: ScratchCluster.shared.database())
        try tables.database.sql("DROP TABLE session; DROP TABLE \"user\"")
        #expect(
            try await inspect(tables).result
                == .problems(.kysely, [.noSessionTable("session"), .noUserTable("user")]))
    }
}
